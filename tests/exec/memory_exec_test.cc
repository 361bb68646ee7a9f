// Loads and stores: ld, st, ldu, in every state space, type and vector width.
//
// PTX ISA 9.0, "Data Movement and Conversion Instructions" and "State Spaces".
#include "tests/exec/memory_exec_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/exec/kernel_batch.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/reference.h"
#include "tests/exec/spellings.h"

namespace cerberus::exec {
namespace {

// The one type and the vector width in a spelling of ld or st.
struct Access {
  PtxType type;
  int width = 1;
  int bytes() const { return type.bits / 8 * width; }
};
Access AccessOf(const LoweredSpelling& s) {
  const Spelling parts(s.text);
  return {parts.type(parts.types().size() - 1), s.Has("v8")   ? 8
                                                : s.Has("v4") ? 4
                                                : s.Has("v2") ? 2
                                                              : 1};
}

// "%r0" or "{%r0, %r1}".
std::string VectorOf(const Access& a, const std::string& name) {
  if (a.width == 1) return name + "0";
  std::string out = "{";
  for (int i = 0; i < a.width; ++i) {
    out += (i == 0 ? "" : ", ") + name + std::to_string(i);
  }
  return out + "}";
}

std::string RegisterOf(const Access& a) {
  return a.type.bits <= 16 ? ".b16" : ".b" + std::to_string(a.type.bits);
}
std::string MemoryType(const Access& a) {
  return ".b" + std::to_string(a.type.bits);
}

// Where an instruction's operand lies: the state space it names.

// Element by element, so that wide vectors need no wide instruction.
std::string PlainLoad(const Access& a, const std::string& reg,
                      const std::string& base) {
  std::string out;
  for (int i = 0; i < a.width; ++i) {
    out += "  ld.global" + MemoryType(a) + " " + reg + std::to_string(i) +
           ", [" + base + "+" + std::to_string(i * a.type.bits / 8) + "];\n";
  }
  return out;
}
std::string PlainStore(const Access& a, const std::string& reg,
                       const std::string& space, const std::string& base) {
  std::string out;
  for (int i = 0; i < a.width; ++i) {
    out += "  st" + space + MemoryType(a) + " [" + base + "+" +
           std::to_string(i * a.type.bits / 8) + "], " + reg +
           std::to_string(i) + ";\n";
  }
  return out;
}

// What puts the thread's bytes into the space under test, and the address.
struct Placed {
  std::string declarations;  // module scope
  std::string setup;
  std::string address;
};
Placed Place(const Access& a, const std::string& space, bool store) {
  const std::string bytes = std::to_string(a.bytes());
  const std::string total = std::to_string(a.bytes() * kThreads);
  const auto variable = [&](const std::string& kind) {
    return "  ." + kind + " .align 32 .b8 buffer[" + total +
           "];\n"
           "  mov.u64 %at, buffer;\n"
           "  mad.wide.u32 %at, %thread, " +
           bytes + ", %at;\n";
  };
  if (space == "global")
    return {"", "  mov.b64 %at, " + std::string(store ? "%out" : "%in") + ";\n",
            "%at"};
  if (space == "generic")
    return {"", "  mov.b64 %at, " + std::string(store ? "%out" : "%in") + ";\n",
            "%at"};
  if (space == "local") {
    return {"",
            "  .local .align 32 .b8 buffer[" + bytes +
                "];\n"
                "  mov.u64 %at, buffer;\n",
            "%at"};
  }
  return {"", variable("shared"), "%at"};
}

void Loads(std::string_view opcode) {
  const auto spellings = LoweredSpellingsOf(opcode);
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const std::string space = SpaceOf(s);
    if (space.substr(0, 5) == "param" || space == "const") continue;  // below
    const Access a = AccessOf(s);
    const Placed p = Place(a, space, false);
    std::string text = Entry(batch.NextName()) + Prologue(a.bytes()) +
                       "  .reg " + RegisterOf(a) + " %r<8>, %s<8>;\n" + p.setup;
    if (space != "global" && space != "generic") {
      const std::string short_space =
          space.substr(0, 6) == "shared" ? ".shared" : ".local";
      text += PlainLoad(a, "%s", "%in") +
              PlainStore(a, "%s", short_space, p.address);
    }
    text += "  " + s.text + " " + VectorOf(a, "%r") + ", [" + p.address + "]" +
            PolicyOperand(s) + ";\n" + PlainStore(a, "%r", ".global", "%out") +
            "  ret;\n}\n";
    batch.Add(s.text, text,
              [bytes = a.bytes()](PtxModule& module, const std::string& k) {
                Copies(module, k, bytes);
              });
  }
}

TEST(MemoryExec, Ld) { Loads("ld"); }
TEST(MemoryExec, Ldu) { Loads("ldu"); }

TEST(MemoryExec, St) {
  const auto spellings = LoweredSpellingsOf("st");
  ASSERT_FALSE(spellings.empty());
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : spellings) {
    const std::string space = SpaceOf(s);
    if (space.substr(0, 5) == "param") continue;  // below
    const Access a = AccessOf(s);
    const Placed p = Place(a, space, true);
    std::string text = Entry(batch.NextName()) + Prologue(a.bytes()) +
                       "  .reg " + RegisterOf(a) + " %r<8>, %s<8>;\n" +
                       p.setup + PlainLoad(a, "%r", "%in") + "  " + s.text +
                       " [" + p.address + "], " + VectorOf(a, "%r") +
                       PolicyOperand(s) + ";\n";
    if (space != "global" && space != "generic") {
      const std::string short_space =
          space.substr(0, 6) == "shared" ? "shared" : "local";
      for (int i = 0; i < a.width; ++i) {
        text += "  ld." + short_space + MemoryType(a) + " %s" +
                std::to_string(i) + ", [" + p.address + "+" +
                std::to_string(i * a.type.bits / 8) + "];\n";
      }
      text += PlainStore(a, "%s", ".global", "%out");
    }
    text += "  ret;\n}\n";
    batch.Add(s.text, text,
              [bytes = a.bytes()](PtxModule& module, const std::string& k) {
                Copies(module, k, bytes);
              });
  }
}

// ld.param of a kernel's parameters, at offsets inside a struct.
TEST(MemoryExec, LdParam) {
  KernelBatch batch{std::string(kHeader)};
  for (const LoweredSpelling& s : LoweredSpellingsOf("ld")) {
    const std::string space = SpaceOf(s);
    if (space != "param" && space != "param::entry") continue;
    const Access a = AccessOf(s);
    std::string text = ".visible .entry " + batch.NextName() +
                       "(.param .align 32 .b8 blob[96], .param .u64 out)\n{\n"
                       "  .reg .b64 %out;\n  .reg " +
                       RegisterOf(a) +
                       " %r<8>;\n"
                       "  ld.param.u64 %out, [out];\n";
    for (int offset : {0, 32, 64}) {
      text += "  " + s.text + " " + VectorOf(a, "%r") + ", [blob+" +
              std::to_string(offset) + "];\n";
      for (int i = 0; i < a.width; ++i) {
        text += "  st.global" + MemoryType(a) + " [%out+" +
                std::to_string(offset + i * a.type.bits / 8) + "], %r" +
                std::to_string(i) + ";\n";
      }
    }
    text += "  ret;\n}\n";
    batch.Add(s.text, text, [a](PtxModule& module, const std::string& k) {
      Buffer out(module.device(), 96);
      std::memset(out.as<char>(), 0, 96);
      Launch launch;
      for (int i = 0; i < 96; ++i) {
        launch.raw.push_back(static_cast<std::uint8_t>(i * 37 + 11));
      }
      AppendLe(launch.raw, out.address());
      const Status status = module.Run(k, launch);
      ASSERT_TRUE(status) << status.error().ToString();
      for (int offset : {0, 32, 64}) {
        EXPECT_EQ(
            std::memcmp(out.as<char>() + offset, launch.raw.data() + offset,
                        static_cast<std::size_t>(a.bytes())),
            0)
            << "at " << offset;
      }
    });
  }
}

// A function's parameter, written by its caller with `st` and read in it with
// `ld`.
void AddCall(KernelBatch& batch, const LoweredSpelling& under_test,
             const std::string& st, const std::string& ld) {
  const Access a = AccessOf(under_test);
  const std::string name = batch.NextName();
  const std::string param =
      ".param .align 32 .b8 blob[" + std::to_string(a.bytes()) + "]";
  const std::string registers = "  .reg " + RegisterOf(a) + " %r<8>;\n";
  const std::string function = "f" + name;
  batch.Add(under_test.text,
            ".func " + function + "(" + param +
                ", .param .b64 to)\n{\n"
                "  .reg .b64 %to;\n" +
                registers + "  ld.param.b64 %to, [to];\n  " + ld + " " +
                VectorOf(a, "%r") + ", [blob];\n" +
                PlainStore(a, "%r", ".global", "%to") + "  ret;\n}\n" +
                Entry(name) + Prologue(a.bytes()) + registers +
                PlainLoad(a, "%r", "%in") + "  {\n  " + param +
                ";\n  .param .b64 to;\n  " + st + " [blob], " +
                VectorOf(a, "%r") +
                ";\n  st.param.b64 [to], %out;\n"
                "  call.uni " +
                function +
                ", (blob, to);\n  }\n"
                "  ret;\n}\n",
            [bytes = a.bytes()](PtxModule& module, const std::string& k) {
              Copies(module, k, bytes);
            });
}

// "ld.param.v2.u16" for an access of that width and type.
std::string PlainParam(const std::string& opcode, const Access& a) {
  return opcode + ".param" +
         (a.width == 1 ? "" : ".v" + std::to_string(a.width)) + MemoryType(a);
}

TEST(MemoryExec, ParametersOfFunctions) {
  KernelBatch batch{std::string(kHeader)};
  int kernels = 0;
  for (const LoweredSpelling& s : LoweredSpellingsOf("ld")) {
    if (SpaceOf(s) != "param::func") continue;
    ++kernels;
    AddCall(batch, s, PlainParam("st", AccessOf(s)), s.text);
  }
  for (const LoweredSpelling& s : LoweredSpellingsOf("st")) {
    const std::string space = SpaceOf(s);
    if (space != "param::func" && space != "param") continue;
    ++kernels;
    AddCall(batch, s, s.text, PlainParam("ld", AccessOf(s)));
  }
  EXPECT_GT(kernels, 0);
}

TEST(MemoryExec, LdConst) {
  constexpr std::size_t kTable = 32 * kThreads;
  std::string bytes;
  for (std::size_t i = 0; i < kTable; ++i) {
    bytes += (i == 0 ? "" : ", ") + std::to_string((i * 31 + 5) & 255);
  }
  KernelBatch batch{std::string(kHeader) + ".const .align 32 .b8 table[" +
                    std::to_string(kTable) + "] = {" + bytes + "};\n"};
  for (const LoweredSpelling& s : LoweredSpellingsOf("ld")) {
    if (SpaceOf(s) != "const") continue;
    const Access a = AccessOf(s);
    const std::string text =
        Entry(batch.NextName()) + Prologue(a.bytes()) + "  .reg " +
        RegisterOf(a) +
        " %r<8>;\n"
        "  mov.u64 %at, table;\n  mad.wide.u32 %at, %thread, " +
        std::to_string(a.bytes()) + ", %at;\n  " + s.text + " " +
        VectorOf(a, "%r") + ", [%at]" + PolicyOperand(s) + ";\n" +
        PlainStore(a, "%r", ".global", "%out") + "  ret;\n}\n";
    batch.Add(s.text, text, [a](PtxModule& module, const std::string& k) {
      const std::size_t size = static_cast<std::size_t>(a.bytes()) * kThreads;
      Buffer out(module.device(), size);
      Launch launch;
      launch.block = {kThreads, 1, 1};
      launch.params = {0, out.address()};
      const Status status = module.Run(k, launch);
      ASSERT_TRUE(status) << status.error().ToString();
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(out.as<std::uint8_t>()[i], ((i * 31 + 5) & 255))
            << "byte " << i;
      }
    });
  }
}

// Loads narrower than the register extend by the type's sign.
TEST(MemoryExec, LdExtendsToTheRegister) {
  struct Row {
    const char* type;
    std::uint64_t bits;
    std::uint64_t want;
  };
  for (const Row& row :
       {Row{"s8", 0x80, 0xffffffffffffff80}, Row{"u8", 0x80, 0x80},
        Row{"s16", 0x8001, 0xffffffffffff8001}, Row{"u16", 0x8001, 0x8001},
        Row{"s32", 0x80000001, 0xffffffff80000001},
        Row{"u32", 0x80000001, 0x80000001}, Row{"b8", 0x80, 0x80},
        Row{"b32", ~0u, 0xffffffff}}) {
    const std::string text =
        std::string(kHeader) +
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" +
        Prologue(0) + "  .reg .b64 %r;\n  ld.global." + row.type +
        " %r, [%in];\n  st.global.b64 [%out], %r;\n  ret;\n}\n";
    auto module = PtxModule::Compile(text);
    ASSERT_TRUE(module) << module.error().ToString() << text;
    Buffer in((*module)->device(), 8), out((*module)->device(), 8);
    *in.as<std::uint64_t>() = row.bits | 0xaa00000000000000;
    if (std::string(row.type) != "s32" && std::string(row.type) != "u32" &&
        std::string(row.type) != "b32") {
      *in.as<std::uint64_t>() |= 0x5500000;
    }
    Launch launch;
    launch.params = {in.address(), out.address()};
    ASSERT_TRUE((*module)->Run("k", launch));
    EXPECT_EQ(*out.as<std::uint64_t>(), row.want) << row.type;
  }
}

}  // namespace
}  // namespace cerberus::exec
