// Whatever an operand is written as, the same value gives the same result: a
// register that each lane has loaded, one from a parameter, a constant in each
// way it can be spelled, a special register, a sum with a constant, a
// predicate or its opposite. Each lowered row of the instruction table is
// executed with each of its source operands in all of these forms, and the
// results compared with those of registers. No reference is needed, so that
// instructions on memory and of whole warps take part.
//
// Of each row one spelling, with one value for each operand.
// CERBERUS_TEST_OPERANDS=all takes each type and each suffix of each row, two
// values, and operands from parameters (minutes); any other value does so for
// the rows of the opcode of that name. all:20 or cvt:20 takes twenty values,
// the others by chance.
// clude <gtest/gtest.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptxc/front/check/sema.h"
#include "ptxc/front/opcode_table.h"
#include "ptxc/front/parse/parser.h"
#include "tests/exec/kernel_batch.h"
#include "tests/exec/operand_forms.h"
#include "tests/exec/ptx_runner.h"
#include "tests/exec/value.h"

namespace cerberus::exec {
namespace {

constexpr std::size_t kSlot = 16;  // of a value, in memory
constexpr std::size_t kCell = 64;  // memory that an instruction accesses
constexpr std::string_view kHeader =
    ".version 9.0\n.target sm_100a\n.address_size 64\n";

// Opcodes that take no values, or that another test executes with operands of
// all kinds.
const std::map<std::string_view, std::string_view> kOutside = {
    {"bra", "a label"},
    {"brx.idx", "control_exec_test: the index chooses where to go on"},
    {"call", "control_exec_test: arguments of all kinds"},
    {"ret", "no operands"},
    {"exit", "no operands"},
    {"trap", "no operands"},
    {"brkpt", "no operands"},
    {"pmevent", "constants only"},
    {"setmaxnreg", "constants only"},
    {"tcgen05.dealloc", "tensor memory"},
    {"tcgen05.ld", "tensor memory"},
    {"tcgen05.ld.red", "tensor memory"},
    {"tcgen05.st", "tensor memory"},
    {"tcgen05.cp", "tensor memory"},
    {"tcgen05.shift", "tensor memory"},
    {"tcgen05.commit", "an mbarrier"},
    {"tcgen05.alloc", "tensor memory"},
    {"griddepcontrol", "no operands"},
    {"membar", "no operands"},
    {"fence", "no values"},
    {"activemask", "no operands"},
    {"barrier.cluster", "no operands"},
    {"nanosleep", "no result"},
    {"prefetch", "no result"},
    {"prefetchu", "no result"},
    {"applypriority", "no result"},
    {"applypriority.async.bulk", "no result"},
    {"trace.mark", "no result"},
    {"discard", "no result"},
    {"createpolicy", "the result is a hint"},
    {"cvta", "addresses"},
    {"isspacep", "addresses"},
    {"mapa", "addresses"},
    {"getctarank", "addresses"},
    {"istypep", "handles"},
    {"txq", "handles"},
    {"suq", "handles"},
    {"mma", "fragments are registers"},
    {"mma.sp", "fragments are registers"},
    {"mma.sp::ordered_metadata", "fragments are registers"},
    {"wmma.load", "wmma_exec_test"},
    {"wmma.store", "wmma_exec_test"},
    {"wmma.mma", "fragments are registers"},
    {"wgmma.mma_async", "wgmma_exec_test"},
    {"wgmma.mma_async.sp", "wgmma_exec_test"},
    {"wgmma.fence", "no operands"},
    {"wgmma.commit_group", "no operands"},
    {"wgmma.wait_group", "constants only"},
    {"tensormap.replace", "async_exec_test"},
    {"ldmatrix", "addresses"},
    {"stmatrix", "fragments are registers"},
    {"mbarrier.init", "async_exec_test"},
    {"mbarrier.inval", "no values"},
    {"mbarrier.expect_tx", "async_exec_test"},
    {"mbarrier.complete_tx", "async_exec_test"},
    {"mbarrier.arrive", "async_exec_test"},
    {"mbarrier.arrive_drop", "async_exec_test"},
    {"mbarrier.test_wait", "async_exec_test"},
    {"mbarrier.try_wait", "async_exec_test"},
    {"cp.async", "async_exec_test"},
    {"cp.async.bulk", "async_exec_test"},
    {"cp.async.bulk.prefetch", "no result"},
    {"st.async", "async_exec_test"},
    {"red.async", "async_exec_test"},
    {"st.bulk", "async_exec_test"},
    {"clusterlaunchcontrol.query_cancel", "async_exec_test"},
    {"stackrestore", "addresses"},
    {"alloca", "addresses"},
};

// An instruction with holes: $0, $1, … are its sources, %d0, … its results and
// %cell the address of memory of its own.
struct Shape {
  std::string text;
  std::vector<ptx::Type> results;
  std::vector<ptx::Type> sources;
  std::string names;  // of the sources, for choosing values: "a,b,membermask"
  // The space of %cell; none if the instruction accesses no memory.
  std::string space;
  bool all_forms = Wanted() != nullptr;
};

std::string Replace(std::string text, std::string_view what,
                    std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// One execution of an instruction: what its sources are, and which earlier
// execution has to have the same results.
struct Execution {
  int like = -1;
  std::string what;
};

// All executions of one shape, as a kernel k(in, out, memory, values):
// `in` holds each lane's values, in all rounds and once more the lane's number
// in place of each source; `out` and `memory` what each execution leaves.
class ShapeKernel {
 public:
  ShapeKernel(const Shape& shape, std::string name)
      : shape_(shape), name_(std::move(name)) {
    const int sources = static_cast<int>(shape_.sources.size());
    // Of arguments far from 0 the manual says nothing.
    const bool near_zero =
        shape_.text.starts_with("sin.") || shape_.text.starts_with("cos.");
    const int rounds = near_zero ? std::min(Rounds(), 2) : Rounds();
    for (int round = 0; round < rounds; ++round) {
      std::vector<Form> forms(shape_.sources.size(), Form::kRegister);
      const int reference = Add(forms, round, -1, -1);
      for (int i = 0; i < sources; ++i) {
        int by_lane = -1;
        for (const Form form : kForms) {
          // Of 128 bits there are no constants.
          const ptx::Type type = shape_.sources[static_cast<std::size_t>(i)];
          if (!shape_.all_forms &&
              (form == Form::kNegative ||
               (form == Form::kParameter && RegisterBits(type) <= 64))) {
            continue;
          }
          const bool lane = form == Form::kLane || form == Form::kSpecial;
          if (lane && (round != 0 || Name(i) == "membermask" ||
                       Name(i) == "barrier" || Name(i) == "threads")) {
            continue;
          }
          std::vector<Form> changed = forms;
          changed[static_cast<std::size_t>(i)] = form;
          if (!Taken(changed, round, i)) continue;
          if (lane && by_lane < 0) by_lane = Add(forms, round, i, -1);
          Add(changed, round, lane ? i : -1, lane ? by_lane : reference);
        }
      }
    }
  }

  std::string text() const {
    return ".visible .entry " + name_ + Head() + body_ + "  ret;\n}\n";
  }
  int comparisons() const { return comparisons_; }
  bool empty() const { return comparisons_ == 0; }

  void Run(PtxModule& module, const std::string& kernel) const {
    const std::size_t sources = std::max<std::size_t>(1, shape_.sources.size());
    Buffer in(module.device(), kLanes * LaneBytes());
    Buffer out(module.device(), executions_.size() * kLanes * OutBytes());
    Buffer memory(module.device(), executions_.size() * kLanes * kCell);
    std::memset(out.as<char>(), 0, out.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory.as<std::uint8_t>()[i] =
          static_cast<std::uint8_t>(i % kCell * 37 + 64);
    }
    Launch launch;
    launch.block = {kLanes, 1, 1};
    for (const std::uint64_t address :
         {in.address(), out.address(), memory.address()}) {
      AppendLe(launch.raw, address);
    }
    launch.raw.resize(32);
    for (int round = 0; round < Rounds(); ++round) {
      for (std::size_t i = 0; i < sources; ++i) {
        const Value v =
            i < shape_.sources.size() ? ValueAt(static_cast<int>(i), round) : 0;
        AppendLe(launch.raw, Low(v));
        AppendLe(launch.raw, High(v));
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
          Value* slots = in.as<Value>() + lane * LaneBytes() / kSlot;
          slots[static_cast<std::size_t>(round) * sources + i] = v;
          slots[static_cast<std::size_t>(Rounds()) * sources] = lane;
        }
      }
    }
    const Status status = module.Run(kernel, launch);
    ASSERT_TRUE(status) << status.error().ToString() << text();
    int wrong = 0;
    for (std::size_t e = 0; e < executions_.size(); ++e) {
      const Execution& execution = executions_[e];
      if (execution.like < 0) continue;
      const std::size_t like = static_cast<std::size_t>(execution.like);
      const auto same = [&](const Buffer& buffer, std::size_t bytes) {
        const char* got = buffer.as<char>() + e * kLanes * bytes;
        const char* want = buffer.as<char>() + like * kLanes * bytes;
        return std::memcmp(got, want, kLanes * bytes) == 0 ||
               (IsRounded() && Near(got, want));
      };
      if (same(out, OutBytes()) && same(memory, kCell)) continue;
      if (++wrong > 3) break;
      const Value* got = out.as<Value>() + e * kLanes * OutBytes() / kSlot;
      const Value* want = out.as<Value>() + like * kLanes * OutBytes() / kSlot;
      ADD_FAILURE() << execution.what << ": lane 0 has 0x" << Hex(*got)
                    << ", with registers 0x" << Hex(*want);
    }
  }

 private:
  // Of these constants are folded with other rounding than the hardware's.
  bool IsRounded() const {
    return shape_.text.starts_with("sin.") || shape_.text.starts_with("cos.") ||
           shape_.text.starts_with("lg2.");
  }
  static bool Near(const char* got, const char* want) {
    for (std::size_t i = 0; i < kLanes * kSlot; i += kSlot) {
      float a = 0, b = 0;
      std::memcpy(&a, got + i, sizeof a);
      std::memcpy(&b, want + i, sizeof b);
      if (std::isnan(a) != std::isnan(b) || std::abs(a - b) > 1e-5F)
        return false;
    }
    return true;
  }

  std::string_view Name(int source) const {
    std::string_view names = shape_.names;
    for (int i = 0; i < source; ++i) names.remove_prefix(names.find(',') + 1);
    return names.substr(0, names.find(','));
  }
  Value ValueAt(int source, int round) const {
    const ptx::Type type = shape_.sources[static_cast<std::size_t>(source)];
    return ValueOf(type, Name(source), source, round);
  }
  std::size_t OutBytes() const {
    return kSlot * std::max<std::size_t>(1, shape_.results.size());
  }
  std::size_t LaneBytes() const {
    return kSlot * (static_cast<std::size_t>(Rounds()) *
                        std::max<std::size_t>(1, shape_.sources.size()) +
                    1);
  }

  std::string Head() const {
    const std::string params =
        std::to_string(static_cast<std::size_t>(Rounds()) * kSlot *
                       std::max<std::size_t>(1, shape_.sources.size()));
    std::string text =
        "(.param .u64 in, .param .u64 out, .param .u64 memory,\n"
        " .param .align 16 .b8 values[" +
        params +
        "])\n{\n"
        "  .reg .b64 %in, %out, %memory, %cell, %at, %w<8>;\n"
        "  .reg .b32 %lane, %bit;\n"
        "  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
        "  ld.param.u64 %memory, [memory];\n  mov.u32 %lane, %tid.x;\n"
        "  mad.wide.u32 %in, %lane, " +
        std::to_string(LaneBytes()) +
        ", %in;\n"
        "  mad.wide.u32 %out, %lane, " +
        std::to_string(OutBytes()) +
        ", %out;\n"
        "  mad.wide.u32 %memory, %lane, " +
        std::to_string(kCell) + ", %memory;\n";
    if (shape_.space == "shared" || shape_.space == "local") {
      const std::size_t lanes = shape_.space == "shared" ? kLanes : 1;
      text += "  ." + shape_.space + " .align 16 .b8 cells[" +
              std::to_string(lanes * kCell) +
              "];\n"
              "  mov.u64 %cell, cells;\n";
      if (shape_.space == "shared") {
        text += "  mad.wide.u32 %cell, %lane, " + std::to_string(kCell) +
                ", %cell;\n";
      }
    }
    return text;
  }

  // The instruction in a scope of its own. `lane_of`: the source that is the
  // lane's number, or -1. Empty if a form does not exist.
  std::string Scope(const std::vector<Form>& forms, int round, int lane_of,
                    std::size_t execution) const {
    std::string registers, before, instruction = shape_.text;
    // The flag that addc, subc and madc read.
    if (instruction.find("c.") < 5)
      before = "  mov.u32 %bit, -1;\n  add.cc.u32 %bit, %bit, 1;\n";
    for (std::size_t i = 0; i < shape_.sources.size(); ++i) {
      const std::string reg = "%a" + std::to_string(i);
      const ptx::Type type = shape_.sources[i];
      const std::size_t at =
          kSlot * (static_cast<std::size_t>(round) * shape_.sources.size() + i);
      const std::size_t lane_slot =
          kSlot * static_cast<std::size_t>(Rounds()) * shape_.sources.size();
      const Written written = Write(
          forms[i], type, ValueAt(static_cast<int>(i), round), reg,
          "[%in+" +
              std::to_string(static_cast<int>(i) == lane_of ? lane_slot : at) +
              "]",
          "[values+" + std::to_string(at) + "]");
      if (written.text.empty()) return "";
      registers += "  .reg " + RegisterType(type) + " " + reg + ";\n";
      before += written.before;
      instruction = Replace(std::move(instruction), "$" + std::to_string(i),
                            written.text);
    }
    std::string text = "{\n" + registers, after;
    for (std::size_t i = 0; i < shape_.results.size(); ++i) {
      const ptx::Type type = shape_.results[i];
      const std::string reg = "%d" + std::to_string(i);
      text += "  .reg " + RegisterType(type) + " " + reg + ";\n";
      const std::string to =
          "[%out+" +
          std::to_string(execution * kLanes * OutBytes() + i * kSlot) + "], ";
      if (type == ptx::Type::kPred) {
        after += "  selp.b32 %bit, 1, 0, " + reg + ";\n  st.global.b32 " + to +
                 "%bit;\n";
      } else {
        after += "  st.global" + RegisterType(type) + " " + to + reg + ";\n";
      }
    }
    const std::string cell =
        "[%memory+" + std::to_string(execution * kLanes * kCell);
    if (shape_.space == "global") {
      text += "  add.u64 %cell, %memory, " +
              std::to_string(execution * kLanes * kCell) + ";\n";
    } else if (!shape_.space.empty()) {
      for (std::size_t i = 0; i < kCell / 8; ++i) {
        const std::string offset = std::to_string(i * 8);
        const std::string word = "%w" + std::to_string(i);
        before += "  ld.global.b64 " + word + ", " + cell + "+" + offset +
                  "];\n  st." + shape_.space + ".b64 [%cell+" + offset + "], " +
                  word + ";\n";
        after += "  ld." + shape_.space + ".b64 " + word + ", [%cell+" +
                 offset + "];\n  st.global.b64 " + cell + "+" + offset + "], " +
                 word + ";\n";
      }
    }
    return text + before + "  " + instruction + "\n" + after + "}\n";
  }

  // Whether the language has it; ptxc's own checks say so.
  bool Taken(const std::vector<Form>& forms, int round, int lane_of) const {
    const std::string scope = Scope(forms, round, lane_of, 0);
    if (scope.empty()) return false;
    const std::string text = std::string(kHeader) + ".visible .entry k" +
                             Head() + scope + "  ret;\n}\n";
    const ptx::ParseOutcome parsed = ptx::Parse(text, nullptr);
    return parsed.errors == 0 && ptx::Check(*parsed.module, nullptr) == 0;
  }

  int Add(const std::vector<Form>& forms, int round, int lane_of, int like) {
    const std::size_t number = executions_.size();
    const std::string scope = Scope(forms, round, lane_of, number);
    body_ += scope;
    std::string instruction = scope.substr(
        scope.find("  " + shape_.text.substr(0, shape_.text.find(' '))));
    executions_.push_back(
        {like, instruction.substr(0, instruction.find('\n'))});
    comparisons_ += like >= 0 ? 1 : 0;
    return static_cast<int>(number);
  }

  Shape shape_;
  std::string name_;
  std::string body_;
  std::vector<Execution> executions_;
  int comparisons_ = 0;
};

// ---- Shapes of the table's rows ---------------------------------------------

ptx::Type TypeOf(const ptx::OperandSpec& spec, const ptx::InstForm& form) {
  switch (spec.from) {
    case ptx::OperandSpec::From::kFixed: return spec.fixed;
    case ptx::OperandSpec::From::kIndexed: return form.type(spec.index);
    case ptx::OperandSpec::From::kWide:
      return ptx::BitsOf(form.type(spec.index)) == 16 ? ptx::Type::kB32
                                                      : ptx::Type::kB64;
    case ptx::OperandSpec::From::kAny:
      return form.type() == ptx::Type::kNone ? ptx::Type::kB32 : form.type();
  }
  return ptx::Type::kNone;
}

// The state space whose memory the instruction accesses; none if it is no
// memory of the test's.
std::string SpaceOf(const ptx::InstForm& form) {
  switch (form.mods.space()) {
    case ptx::Space::kShared:
    case ptx::Space::kSharedCta:
    case ptx::Space::kSharedCluster: return "shared";
    case ptx::Space::kLocal: return "local";
    case ptx::Space::kNone:
    case ptx::Space::kGlobal: return "global";
    default: return "";
  }
}

// `vector`: how many elements "{a}" has. Empty where the row's operands need
// more than values.
Shape ShapeOf(const ptx::OpcodeRow& row, const ptx::InstForm& form,
              unsigned vector) {
  Shape shape;
  std::string operands;
  const bool hinted =
      form.spelling.find(".L2::cache_hint") != std::string_view::npos;
  for (const ptx::OperandSpec& spec : row.specs) {
    const ptx::Type type = TypeOf(spec, form);
    const auto has = [&](std::uint32_t bits) {
      return (spec.classes & bits) != 0;
    };
    const auto one = [&] {
      if (has(ptx::kOpDest)) {
        shape.results.push_back(type);
        return "%d" + std::to_string(shape.results.size() - 1);
      }
      shape.sources.push_back(type);
      const bool barrier = row.name == "bar" || row.name == "barrier";
      shape.names += barrier && spec.name == "a"   ? "barrier"
                     : barrier && spec.name == "b" ? "threads"
                                                   : std::string(spec.name);
      shape.names += ",";
      return "$" + std::to_string(shape.sources.size() - 1);
    };
    std::string text;
    if (spec.name == "policy") {
      if (!hinted) continue;
      text = "0";
    } else if (has(ptx::kOpAddress)) {
      shape.space = SpaceOf(form);
      if (shape.space.empty()) return {};
      text = "[%cell]";
    } else if (has(ptx::kOpScalarOrVector) && form.mods.vector_width() > 1) {
      for (int i = 0; i < form.mods.vector_width(); ++i)
        text += (i == 0 ? "{" : ", ") + one();
      text += "}";
    } else if (has(ptx::kOpPair)) {
      text = one() + "|";
      shape.results.push_back(ptx::Type::kPred);
      text += "%d" + std::to_string(shape.results.size() - 1);
    } else if (has(ptx::kOpRegister)) {
      text = one();
    } else if (has(ptx::kOpVector)) {
      for (unsigned i = 0; i < vector; ++i)
        text += (i == 0 ? "{" : ", ") + one();
      text += "}";
    } else if (has(ptx::kOpImmediate)) {
      text = "1";
    } else {
      return {};
    }
    operands += (operands.empty() ? " " : ", ") + text;
  }
  shape.text = std::string(form.spelling) + operands + ";";
  return shape;
}

// The spelling that has, of each list of choices, the one behind those that
// the spelling before had; the first one differs from row to row.
std::string SpellingOf(const ptx::OpcodeRow& row, std::size_t number) {
  std::string text(row.name.substr(0, row.name.find('.')));
  for (const ptx::SyntaxItem& item : row.items) {
    const std::size_t choices = item.choices.size() + (item.optional ? 1 : 0);
    const std::size_t choice = (number + row.index) % choices;
    if (choice < item.choices.size())
      text.append(".").append(item.choices[choice].spelling);
  }
  return text;
}

// So many have each choice.
std::size_t SpellingsOf(const ptx::OpcodeRow& row) {
  std::size_t most = 1;
  for (const ptx::SyntaxItem& item : row.items)
    most = std::max(most, item.choices.size() + 1);
  return most;
}

// What the table does not show: packs and parts of operands. A constant has no
// parts, so where one operand has some the others vary.
const Shape kMore[] = {
    // Branches on what all lanes have in common, with 16-bit results.
    {"cvt.rz.f16x2.f32 %d0, $0, $1;",
     {ptx::Type::kB32},
     {ptx::Type::kF32, ptx::Type::kF32},
     "a,b,",
     ""},
    {"mov.b32 %d0, {$0, $1};",
     {ptx::Type::kB32},
     {ptx::Type::kB16, ptx::Type::kB16},
     "a,b,",
     ""},
    {"mov.b64 %d0, {$0, $1};",
     {ptx::Type::kB64},
     {ptx::Type::kB32, ptx::Type::kB32},
     "a,b,",
     ""},
    {"mov.b64 %d0, {$0, $1, $2, $3};",
     {ptx::Type::kB64},
     {ptx::Type::kB16, ptx::Type::kB16, ptx::Type::kB16, ptx::Type::kB16},
     "a,b,c,d,",
     ""},
    {"mov.b128 %d0, {$0, $1};",
     {ptx::Type::kB128},
     {ptx::Type::kB64, ptx::Type::kB64},
     "a,b,",
     ""},
    {"vadd.s32.s32.s32.sat %d0.h1, %lane.b0, $0, $1;",
     {ptx::Type::kB32},
     {ptx::Type::kS32, ptx::Type::kS32},
     "b,c,",
     ""},
    {"vsub.u32.u32.s32 %d0.b2, $0, %lane.h0, $1;",
     {ptx::Type::kB32},
     {ptx::Type::kU32, ptx::Type::kU32},
     "a,c,",
     ""},
    {"vadd4.u32.u32.u32 %d0.b31, %lane.b4567, $0, $1;",
     {ptx::Type::kB32},
     {ptx::Type::kU32, ptx::Type::kU32},
     "b,c,",
     ""},
    {"vmad.s32.s32.s32 %d0, %lane.b0, $0, $1;",
     {ptx::Type::kB32},
     {ptx::Type::kS32, ptx::Type::kS32},
     "b,c,",
     ""},
};

class Comparisons {
 public:
  // False if no operand of the shape can be anything but a register.
  bool Add(const Shape& shape) {
    ShapeKernel kernel(shape, batch_.NextName());
    if (kernel.empty()) return false;
    ++shapes_;
    comparisons_ += kernel.comparisons();
    const std::string text = kernel.text();
    batch_.Add(shape.text, text,
               [kernel](PtxModule& module, const std::string& name) {
                 kernel.Run(module, name);
               });
    return true;
  }
  void Finish() {
    batch_.Flush();
    std::printf("%d comparisons in %d instructions\n", comparisons_, shapes_);
  }

 private:
  KernelBatch batch_{std::string(kHeader)};
  int shapes_ = 0;
  int comparisons_ = 0;
};

// Rows whose operands are no values that the test could choose.
bool IsOutside(const ptx::OpcodeRow& row) {
  if (row.specs.empty() || kOutside.contains(row.name)) return true;
  // Without a rounding mad.f32 is of sm_1x.
  if (row.name == "mad" && row.syntax == "{.ftz} {.sat} .f32") return true;
  // mov of whole vector registers.
  if (row.name == "mov" && row.syntax.starts_with(".v2")) return true;
  // From memory to memory, textures: nothing that a kernel of one cell has.
  const auto are = [&row](std::uint32_t classes) {
    return std::ranges::count_if(row.specs, [&](const ptx::OperandSpec& spec) {
      return (spec.classes & classes) != 0;
    });
  };
  if (are(ptx::kOpAddress) > 1 || are(ptx::kOpTexture) > 0) return true;
  // Nothing but an address: memory_exec_test writes that in all ways.
  return std::ranges::all_of(row.specs, [](const ptx::OperandSpec& spec) {
    return (spec.classes & (ptx::kOpDest | ptx::kOpAddress)) != 0 ||
           spec.name == "policy";
  });
}

TEST(OperandExec, EachFormOfEachOperandOfEachRow) {
  const bool all = Wanted() != nullptr;
  Comparisons comparisons;
  for (const ptx::OpcodeRow& row : ptx::OpcodeTable()) {
    if (!row.is_supported() || IsOutside(row)) continue;
    if (all && WantedOpcode() != "all" && row.name != WantedOpcode()) continue;
    int added = 0;
    for (std::size_t i = 0; i < SpellingsOf(row) && (all || added == 0); ++i) {
      const std::string spelling = SpellingOf(row, i);
      ptx::InstForm form;
      std::string error;
      const int operands = ptx::CountOperands(row).max;
      if (!ptx::ResolveForm(spelling, operands, &form, &error) ||
          form.row != &row) {
        continue;
      }
      for (const unsigned vector : {4U, 2U}) {
        if (comparisons.Add(ShapeOf(row, form, vector))) {
          ++added;
          break;
        }
      }
    }
    EXPECT_NE(added, 0) << row.name << " " << row.syntax << ": "
                        << row.operands;
  }
  for (Shape shape : kMore) {
    shape.all_forms = true;
    EXPECT_TRUE(comparisons.Add(shape)) << shape.text;
  }
  comparisons.Finish();
}

}  // namespace
}  // namespace cerberus::exec
