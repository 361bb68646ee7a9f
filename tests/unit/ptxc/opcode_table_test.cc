#include "ptxc/front/opcode_table.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ptx_text.h"
#include "ptxc/front/check/sema.h"
#include "ptxc/front/parse/parser.h"

namespace cerberus::ptx {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<std::string> SpellingsOf(const OpcodeRow& row) {
  std::vector<std::string> all;
  ForEachSpelling(row, false, [&](std::string_view spelling) {
    all.emplace_back(spelling);
  });
  return all;
}

InstForm Resolve(std::string_view spelling) {
  InstForm form;
  std::string error;
  EXPECT_TRUE(ResolveForm(spelling, -1, &form, &error)) << error;
  return form;
}

std::string ErrorOf(std::string_view spelling) {
  InstForm form;
  std::string error;
  EXPECT_FALSE(ResolveForm(spelling, -1, &form, &error)) << spelling;
  return error;
}

std::vector<std::string> RealMnemonics() {
  std::ifstream in(std::string(CERBERUS_TESTS) + "/ptx/mnemonics.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  return lines;
}

// ---- What real programs use -------------------------------------------------

// A spelling's parts in some fixed order: programs write them in any.
std::vector<std::string> SortedParts(std::string_view spelling) {
  std::vector<std::string> parts;
  while (!spelling.empty()) {
    const std::size_t dot = std::min(spelling.find('.', 1), spelling.size());
    parts.emplace_back(spelling.substr(0, dot));
    spelling.remove_prefix(dot);
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

// The execution tests take a row's spellings from the table and run each, so
// what is left to show is that every real spelling is one of them.
TEST(OpcodeTable, EverySpellingOfRealProgramsIsCompiledAndExecuted) {
  const std::vector<std::string> mnemonics = RealMnemonics();
  EXPECT_GT(mnemonics.size(), 700u);
  std::map<const OpcodeRow*, std::set<std::vector<std::string>>> spellings;
  for (const std::string& mnemonic : mnemonics) {
    const InstForm form = Resolve(mnemonic);
    if (form.row == nullptr) continue;  // Resolve has failed the test
    EXPECT_TRUE(form.row->is_supported()) << mnemonic;
    auto [known, fresh] = spellings.try_emplace(form.row);
    if (fresh) {
      ForEachSpelling(*form.row, true, [&](std::string_view spelling) {
        known->second.insert(SortedParts(spelling));
      });
    }
    EXPECT_TRUE(known->second.contains(SortedParts(mnemonic))) << mnemonic;
  }
}

// ---- The rows ---------------------------------------------------------------

TEST(OpcodeTable, EveryOpcodeHasRowsAndEveryRowSaysWhatBecomesOfIt) {
  std::set<std::string_view> with_rows;
  for (const OpcodeRow& row : OpcodeTable()) {
    with_rows.insert(row.name);
    EXPECT_FALSE(row.lowering.empty()) << row.name;
    if (!row.is_supported()) {
      EXPECT_FALSE(row.notes.empty())
          << row.name << ' ' << row.syntax << " is unsupported for no reason";
    }
    EXPECT_GE(row.ptx_version, 10) << row.name;
    EXPECT_LE(row.items.size(), 16u) << row.name;
  }
  for (int i = 0; i < kNumOpcodes; ++i)
    EXPECT_THAT(with_rows, Contains(OpcodeName(static_cast<Opcode>(i))));
}

// The chapters of the manual, by the opcodes they describe.
TEST(OpcodeTable, HasEveryOpcodeOfTheManual) {
  constexpr std::string_view kManual[] = {"abs",
                                          "activemask",
                                          "add",
                                          "addc",
                                          "alloca",
                                          "and",
                                          "applypriority",
                                          "atom",
                                          "bar",
                                          "bar.warp",
                                          "barrier",
                                          "barrier.cluster",
                                          "bfe",
                                          "bfi",
                                          "bfind",
                                          "bmsk",
                                          "bra",
                                          "brev",
                                          "brkpt",
                                          "brx.idx",
                                          "call",
                                          "clusterlaunchcontrol.query_cancel",
                                          "clusterlaunchcontrol.try_cancel",
                                          "clz",
                                          "cnot",
                                          "copysign",
                                          "cos",
                                          "cp.async",
                                          "cp.async.bulk",
                                          "cp.async.bulk.prefetch",
                                          "cp.async.bulk.prefetch.tensor",
                                          "cp.async.bulk.tensor",
                                          "cp.reduce.async.bulk",
                                          "cp.reduce.async.bulk.tensor",
                                          "createpolicy",
                                          "cvt",
                                          "cvt.pack",
                                          "cvta",
                                          "discard",
                                          "div",
                                          "dp2a",
                                          "dp4a",
                                          "elect",
                                          "ex2",
                                          "exit",
                                          "fence",
                                          "fma",
                                          "fns",
                                          "getctarank",
                                          "griddepcontrol",
                                          "isspacep",
                                          "istypep",
                                          "ld",
                                          "ldmatrix",
                                          "ldu",
                                          "lg2",
                                          "lop3",
                                          "mad",
                                          "mad24",
                                          "madc",
                                          "mapa",
                                          "match",
                                          "max",
                                          "mbarrier.arrive",
                                          "mbarrier.arrive_drop",
                                          "mbarrier.complete_tx",
                                          "mbarrier.expect_tx",
                                          "mbarrier.init",
                                          "mbarrier.inval",
                                          "mbarrier.pending_count",
                                          "mbarrier.test_wait",
                                          "mbarrier.try_wait",
                                          "membar",
                                          "min",
                                          "mma",
                                          "mma.sp",
                                          "mov",
                                          "movmatrix",
                                          "mul",
                                          "mul24",
                                          "multimem.ld_reduce",
                                          "multimem.red",
                                          "multimem.st",
                                          "nanosleep",
                                          "neg",
                                          "not",
                                          "or",
                                          "pmevent",
                                          "popc",
                                          "prefetch",
                                          "prefetchu",
                                          "prmt",
                                          "rcp",
                                          "red",
                                          "red.async",
                                          "redux",
                                          "rem",
                                          "ret",
                                          "rsqrt",
                                          "sad",
                                          "selp",
                                          "set",
                                          "setmaxnreg",
                                          "setp",
                                          "shf",
                                          "shfl",
                                          "shl",
                                          "shr",
                                          "sin",
                                          "slct",
                                          "sqrt",
                                          "st",
                                          "st.async",
                                          "st.bulk",
                                          "stackrestore",
                                          "stacksave",
                                          "stmatrix",
                                          "sub",
                                          "subc",
                                          "suld",
                                          "suq",
                                          "sured",
                                          "sust",
                                          "szext",
                                          "tanh",
                                          "tcgen05.alloc",
                                          "tcgen05.commit",
                                          "tcgen05.cp",
                                          "tcgen05.dealloc",
                                          "tcgen05.ld",
                                          "tcgen05.mma",
                                          "tcgen05.mma.sp",
                                          "tcgen05.mma.ws",
                                          "tcgen05.mma.ws.sp",
                                          "tcgen05.relinquish_alloc_permit",
                                          "tcgen05.shift",
                                          "tcgen05.st",
                                          "tcgen05.wait::ld",
                                          "tcgen05.wait::st",
                                          "tensormap.cp_fenceproxy",
                                          "tensormap.replace",
                                          "testp",
                                          "tex",
                                          "tld4",
                                          "trap",
                                          "txq",
                                          "vabsdiff",
                                          "vabsdiff2",
                                          "vabsdiff4",
                                          "vadd",
                                          "vadd2",
                                          "vadd4",
                                          "vavrg2",
                                          "vavrg4",
                                          "vmad",
                                          "vmax",
                                          "vmax2",
                                          "vmax4",
                                          "vmin",
                                          "vmin2",
                                          "vmin4",
                                          "vote",
                                          "vset",
                                          "vset2",
                                          "vset4",
                                          "vshl",
                                          "vshr",
                                          "vsub",
                                          "vsub2",
                                          "vsub4",
                                          "wgmma.commit_group",
                                          "wgmma.fence",
                                          "wgmma.mma_async",
                                          "wgmma.mma_async.sp",
                                          "wgmma.wait_group",
                                          "wmma.load",
                                          "wmma.mma",
                                          "wmma.store",
                                          "xor"};
  std::set<std::string_view> names;
  for (const OpcodeRow& row : OpcodeTable()) names.insert(row.name);
  for (std::string_view opcode : kManual) EXPECT_THAT(names, Contains(opcode));
}

// Parsing what a row's syntax spells leads back to a row with the same
// modifiers, and its operands satisfy the checks: no row is dead.
TEST(OpcodeTable, EverySpellingOfEveryRowParsesAndChecks) {
  std::vector<std::string> lines;
  std::set<std::uint16_t> reached;
  std::size_t spellings = 0;
  const auto flush = [&] {
    // A target on which mad.f32 needs no rounding modifier; that others are
    // too new for it is a warning.
    const std::string text = testing::ModuleWith(lines, "sm_13");
    const DiagSink sink = [&](const Diag& diag) {
      if (diag.severity == Severity::kError)
        ADD_FAILURE() << diag.ToString() << "\n  "
                      << lines[static_cast<std::size_t>(
                             std::clamp(diag.where.ptx_line - 20, 0,
                                        static_cast<int>(lines.size()) - 1))];
    };
    ParseOutcome outcome = Parse(text, sink);
    ASSERT_EQ(outcome.errors, 0);
    ASSERT_EQ(Check(*outcome.module, sink), 0);
    for (const InstForm& form : outcome.module->forms)
      reached.insert(form.row->index);
    lines.clear();
  };
  for (const OpcodeRow& row : OpcodeTable()) {
    const std::vector<std::string> all = SpellingsOf(row);
    ASSERT_FALSE(all.empty()) << row.name;
    // Large rows by sample; the first and the last are always in.
    const std::size_t step = all.size() / 500 + 1;
    for (std::size_t i = 0; i < all.size(); i += step) {
      InstForm form = Resolve(all[i]);
      form.row = &row;
      lines.push_back(testing::InstructionText(form, false));
      ++spellings;
    }
    if (lines.size() > 4000) flush();
  }
  flush();
  EXPECT_GT(spellings, 20000u);
  // Rows that only the number of operands tells apart are reached too.
  for (const OpcodeRow& row : OpcodeTable())
    EXPECT_TRUE(reached.contains(row.index))
        << row.name << " '" << row.syntax << "' (" << row.operands
        << ") is hidden by an earlier row";
}

// ---- Spellings of real programs ---------------------------------------------

TEST(OpcodeTable, ResolvesEveryMnemonicOfRealPrograms) {
  const std::vector<std::string> mnemonics = RealMnemonics();
  ASSERT_EQ(mnemonics.size(), 728u);
  for (const std::string& mnemonic : mnemonics) {
    const InstForm form = Resolve(mnemonic);
    ASSERT_NE(form.row, nullptr) << mnemonic;
    for (const bool optional : {false, true}) {
      const std::string text =
          testing::ModuleWith({testing::InstructionText(form, optional)});
      const ParseOutcome outcome = Parse(text, [&](const Diag& diag) {
        ADD_FAILURE() << mnemonic << ": " << diag.ToString();
      });
      EXPECT_EQ(outcome.errors, 0) << mnemonic;
    }
  }
}

// ---- Decoding ---------------------------------------------------------------

TEST(ResolveForm, DecodesModifiersAndTypes) {
  InstForm form = Resolve("fma.rz.ftz.sat.f32");
  EXPECT_EQ(form.opcode(), Opcode::kFma);
  EXPECT_EQ(form.mods.rounding(), Rounding::kRz);
  EXPECT_EQ(form.mods.ftz(), Ftz::kOn);
  EXPECT_EQ(form.mods.sat(), Sat::kOn);
  EXPECT_EQ(form.num_types, 1);
  EXPECT_EQ(form.type(), Type::kF32);

  form = Resolve("ld.global.nc.L1::no_allocate.v4.f32");
  EXPECT_EQ(form.mods.space(), Space::kGlobal);
  EXPECT_EQ(form.mods.nc(), NonCoherent::kOn);
  EXPECT_EQ(form.mods.l1(), L1::kNoAllocate);
  EXPECT_EQ(form.mods.vector_width(), 4);

  form = Resolve("cvt.rni.sat.s8.f16");
  EXPECT_EQ(form.mods.rounding(), Rounding::kRni);
  EXPECT_EQ(form.type(0), Type::kS8);
  EXPECT_EQ(form.type(1), Type::kF16);

  form = Resolve(
      "cp.async.bulk.shared::cluster.global."
      "mbarrier::complete_tx::bytes");
  EXPECT_EQ(form.opcode(), Opcode::kCpAsyncBulk);
  EXPECT_EQ(form.mods.space(), Space::kSharedCluster);
  EXPECT_EQ(form.mods.space2(), Space::kGlobal);

  form = Resolve("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32");
  EXPECT_EQ(form.mods.layout(), Layout::kRow);
  EXPECT_EQ(form.mods.layout2(), Layout::kCol);
  EXPECT_EQ(form.mods.shape(), Shape::kM16n16k16);
}

// The same letters mean different things in different families.
TEST(ResolveForm, PicksTheGroupByFamily) {
  EXPECT_EQ(Resolve("mul.lo.u32").mods.mul_mode(), MulMode::kLo);
  EXPECT_EQ(Resolve("setp.lo.u32").mods.cmp(), Cmp::kLo);
  EXPECT_EQ(Resolve("bra.uni").mods.uni(), Uni::kOn);
  EXPECT_EQ(Resolve("vote.sync.uni.pred").mods.vote(), Vote::kUni);
  EXPECT_EQ(Resolve("atom.global.and.b32").mods.op(), Op::kAnd);
  EXPECT_EQ(Resolve("setp.lt.and.s32").mods.op(), Op::kAnd);
  EXPECT_EQ(Resolve("shf.l.clamp.b32").mods.shift_mode(), ShiftMode::kClamp);
  EXPECT_EQ(Resolve("sust.b.2d.b32.clamp").mods.clamp(), Clamp::kClamp);
  EXPECT_EQ(Resolve("shf.l.wrap.b32").mods.shift_dir(), ShiftDir::kLeft);
}

// ptxas takes modifiers in any order; programs with inline asm rely on it.
TEST(ResolveForm, AcceptsOtherOrdersOfModifiers) {
  const InstForm atom = Resolve("atom.global.sys.add.u32");
  EXPECT_EQ(atom.mods.scope(), Scope::kSys);
  EXPECT_EQ(atom.mods.space(), Space::kGlobal);
  EXPECT_EQ(Resolve("vote.ballot.sync.b32").mods.sync(), Sync::kOn);
  EXPECT_EQ(Resolve("st.release.sys.global.u8").mods.sem(), Sem::kRelease);
  // Types keep their order.
  EXPECT_EQ(Resolve("cvt.f32.rn.s32").type(0), Type::kF32);
}

struct BadForm {
  const char* spelling;
  const char* message;
};

class BadForms : public ::testing::TestWithParam<BadForm> {};

TEST_P(BadForms, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf(GetParam().spelling), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadForms,
    ::testing::Values(
        BadForm{"frobnicate.u32", "unknown instruction 'frobnicate'"},
        BadForm{"add.f32x4", "'add' has no modifier '.f32x4'"},
        BadForm{"add.sat.u64", "not a form of 'add'"},
        BadForm{"add.rn.s32", "not a form of 'add'"},
        BadForm{"add", "not a form of 'add'"},
        BadForm{"add.ftz.ftz.f32", "not a form of 'add'"},
        BadForm{"setp.lo.s32", "not a form of 'setp'"},
        BadForm{"cvt.f16.f32", "not a form of 'cvt'"},
        BadForm{"cvt.sat.u32.u16", "not a form of 'cvt'"},
        BadForm{"ld.relaxed.u32", "not a form of 'ld'"},
        BadForm{"ld.global.v3.f32", "'ld' has no modifier '.v3'"},
        BadForm{"multimem.red.frob.u32", "'multimem.red' has no modifier"},
        // ptxas refuses the manual's own example of it.
        BadForm{"multimem.red.relaxed.gpu.max.f64",
                "not a form of 'multimem.red'"},
        BadForm{"multimem.ld_reduce.add.v8.f32",
                "not a form of 'multimem.ld_reduce'"},
        BadForm{"tcgen05.mma.cta_group::1.kind::frob",
                "'tcgen05.mma' has no modifier '.kind::frob'"},
        BadForm{"cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::"
                "complete_tx::bytes.override::global_dim",
                "is not supported: bulk tensor copies"},
        BadForm{"spdecompress.b32",
                "'spdecompress.b32' is not supported: it expands"},
        BadForm{"mbarrier.arrive.multicast::cluster.shared::cluster.b64",
                "is not supported: it arrives at barriers of several blocks"},
        BadForm{"mbarrier.frob.b64", "'mbarrier' has no modifier '.frob'"},
        BadForm{"cp.async.bulk.frob",
                "'cp.async.bulk' has no modifier '.frob'"},
        BadForm{"add.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y",
                "more than 24 modifiers"}));

TEST(ResolveForm, ErrorsNameTheLegalForms) {
  EXPECT_THAT(ErrorOf("copysign.f16"), HasSubstr("expected 'copysign "));
}

// ---- Enumeration ------------------------------------------------------------

TEST(ForEachSpelling, SpansTheWholeSyntax) {
  std::multiset<std::string> all;
  for (const OpcodeRow* row : RowsOf("sqrt"))
    for (std::string& spelling : SpellingsOf(*row))
      all.insert(std::move(spelling));
  EXPECT_EQ(all, (std::multiset<std::string>{
                     "sqrt.approx.f32", "sqrt.approx.ftz.f32", "sqrt.rn.f32",
                     "sqrt.rn.ftz.f32", "sqrt.rz.f32", "sqrt.rz.ftz.f32",
                     "sqrt.rm.f32", "sqrt.rm.ftz.f32", "sqrt.rp.f32",
                     "sqrt.rp.ftz.f32", "sqrt.rn.f64", "sqrt.rz.f64",
                     "sqrt.rm.f64", "sqrt.rp.f64"}));
}

TEST(ForEachSpelling, ShowsHintsOneAtATime) {
  for (const OpcodeRow* row : RowsOf("ld")) {
    for (const std::string& spelling : SpellingsOf(*row)) {
      int hints = 0;
      for (const char* hint : {".L1::", ".L2::cache_hint", "B.", ".ca."})
        hints += spelling.find(hint) != std::string::npos;
      EXPECT_LE(hints, 1) << spelling;
    }
  }
}

TEST(Types, SizesAndNames) {
  EXPECT_EQ(TypeName(Type::kBF16x2), "bf16x2");
  EXPECT_EQ(TypeFromName("e4m3x4"), Type::kE4M3x4);
  EXPECT_EQ(TypeFromName("f8"), Type::kNone);
  EXPECT_EQ(BytesOf(Type::kPred), 1);
  EXPECT_EQ(BitsOf(Type::kB128), 128);
  EXPECT_TRUE(IsSigned(Type::kS16));
  EXPECT_FALSE(IsInteger(Type::kB32));
}

}  // namespace
}  // namespace cerberus::ptx
