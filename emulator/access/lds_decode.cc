// The text of LDS instructions to what executes them.
#include "emulator/access/lds.h"
#include "emulator/decode/decode.h"

namespace cerberus::emulator {
namespace {

// Names of old and new generations to one form: "load_b32", "add_rtn_u32".
struct Name {
  std::string_view name;
  Atomic atomic;
  u8 bytes;
};
constexpr Name kAtomics[] = {
    {"add_u32", Atomic::kAdd, 4},
    {"sub_u32", Atomic::kSub, 4},
    {"rsub_u32", Atomic::kRsub, 4},
    {"inc_u32", Atomic::kInc, 4},
    {"dec_u32", Atomic::kDec, 4},
    {"min_i32", Atomic::kMinI, 4},
    {"max_i32", Atomic::kMaxI, 4},
    {"min_u32", Atomic::kMinU, 4},
    {"max_u32", Atomic::kMaxU, 4},
    {"and_b32", Atomic::kAnd, 4},
    {"or_b32", Atomic::kOr, 4},
    {"xor_b32", Atomic::kXor, 4},
    {"mskor_b32", Atomic::kMskOr, 4},
    {"min_f32", Atomic::kMinF, 4},
    {"max_f32", Atomic::kMaxF, 4},
    {"add_f32", Atomic::kAddF, 4},
    {"min_num_f32", Atomic::kMinNumF, 4},
    {"max_num_f32", Atomic::kMaxNumF, 4},
    {"min_num_f64", Atomic::kMinNumF, 8},
    {"max_num_f64", Atomic::kMaxNumF, 8},
    {"add_u64", Atomic::kAdd, 8},
    {"sub_u64", Atomic::kSub, 8},
    {"rsub_u64", Atomic::kRsub, 8},
    {"inc_u64", Atomic::kInc, 8},
    {"dec_u64", Atomic::kDec, 8},
    {"min_i64", Atomic::kMinI, 8},
    {"max_i64", Atomic::kMaxI, 8},
    {"min_u64", Atomic::kMinU, 8},
    {"max_u64", Atomic::kMaxU, 8},
    {"and_b64", Atomic::kAnd, 8},
    {"or_b64", Atomic::kOr, 8},
    {"xor_b64", Atomic::kXor, 8},
    {"mskor_b64", Atomic::kMskOr, 8},
    {"min_f64", Atomic::kMinF, 8},
    {"max_f64", Atomic::kMaxF, 8},
    {"add_f64", Atomic::kAddF, 8},
    {"pk_add_f16", Atomic::kPkAddF16, 4},
    {"pk_add_bf16", Atomic::kPkAddBf16, 4},
    {"cond_sub_u32", Atomic::kCondSub, 4},
    {"sub_clamp_u32", Atomic::kSubClamp, 4},
    {"wrxchg_b32", Atomic::kSwap, 4},
    {"wrxchg_b64", Atomic::kSwap, 8},
    {"storexchg_b32", Atomic::kSwap, 4},
    {"storexchg_b64", Atomic::kSwap, 8},
    {"cmpst_b32", Atomic::kCmpSwap, 4},
    {"cmpst_b64", Atomic::kCmpSwap, 8},
    {"cmpst_f32", Atomic::kCmpSwapF, 4},
    {"cmpst_f64", Atomic::kCmpSwapF, 8},
    {"cmpstore_b32", Atomic::kCmpSwap, 4},
    {"cmpstore_b64", Atomic::kCmpSwap, 8},
    {"cmpstore_f32", Atomic::kCmpSwapF, 4},
    {"cmpstore_f64", Atomic::kCmpSwapF, 8},
    {"wrap_b32", Atomic::kWrap, 4},
};

// Instructions that have a form of their own.
struct FormName {
  std::string_view name;
  LdsForm form;
  MemKind kind = MemKind::kLoad;
  bool fi = false;
};
constexpr FormName kForms[] = {
    {"nop", LdsForm::kNop},
    {"swizzle_b32", LdsForm::kSwizzle},
    {"permute_b32", LdsForm::kPermute},
    {"bpermute_b32", LdsForm::kBpermute},
    {"bpermute_fi_b32", LdsForm::kBpermute, MemKind::kLoad, true},
    {"append", LdsForm::kAppend, MemKind::kAtomic},
    {"consume", LdsForm::kConsume, MemKind::kAtomic},
    {"condxchg32_rtn_b64", LdsForm::kCondExchange, MemKind::kAtomic},
};

// load_2addr_stride64_b64, or load2st64_b64 in older text. True if `s` is one;
// *known is false if its type is not.
bool ParseTwo(const std::string& s, LdsOp* l, bool* known) {
  for (const bool stride : {true, false}) {
    for (const std::string_view old :
         {std::string_view("load"), std::string_view("store"),
          std::string_view("storexchg"), std::string_view("wrxchg")}) {
      const std::string a = std::string(old) + (stride ? "2st64_" : "2_");
      const std::string b =
          std::string(old) + (stride ? "_2addr_stride64_" : "_2addr_");
      const std::string c = a + "rtn_", d = b + "rtn_";
      for (const std::string& prefix : {c, d, a, b}) {
        if (!s.starts_with(prefix)) continue;
        const std::string type = s.substr(prefix.size());
        *known = type == "b32" || type == "b64";
        l->form = LdsForm::kTwo;
        l->mem.bytes = type == "b32" ? 4 : 8;
        l->scale = l->mem.bytes * (stride ? 64u : 1u);
        l->exchange = old == "storexchg" || old == "wrxchg";
        l->mem.kind = old == "load" ? MemKind::kLoad : MemKind::kStore;
        return true;
      }
    }
  }
  return false;
}

// load_b64_tr_b8 and its kin.
bool ParseTranspose(const std::string& s, LdsOp* l) {
  for (const u32 bits : {4u, 6u, 8u, 16u}) {
    const u8 bytes = bits == 6 ? 12 : 8;
    if (s !=
        "load_b" + std::to_string(8 * bytes) + "_tr_b" + std::to_string(bits)) {
      continue;
    }
    l->form = LdsForm::kTranspose;
    l->element = bits;
    l->mem.kind = MemKind::kLoad;
    l->mem.bytes = bytes;
    return true;
  }
  return false;
}

bool ParseName(std::string_view name, LdsOp* l, bool* compare_first) {
  *compare_first = false;
  if (!name.starts_with("ds_")) return false;
  std::string s(name.substr(3));
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = s.find(from);
    if (at != std::string::npos) s.replace(at, from.size(), to);
  };
  for (const FormName& form : kForms) {
    if (s != form.name) continue;
    l->form = form.form;
    l->mem.kind = form.kind;
    l->fi = form.fi;
    return true;
  }
  if (s.starts_with("read")) replace("read", "load");
  if (s.starts_with("write")) replace("write", "store");
  if (bool known = true; ParseTwo(s, l, &known)) return known;
  if (s == "load_addtid_b32" || s == "store_addtid_b32") {
    l->form = LdsForm::kAddtid;
    return ParseMemOp(s == "load_addtid_b32" ? "load_b32" : "store_b32",
                      &l->mem);
  }
  if (ParseTranspose(s, l)) return true;
  MemOp mem;
  if (ParseMemOp(s, &mem) && mem.kind != MemKind::kAtomic) {
    l->mem = mem;
    return true;
  }
  const bool returns = s.find("_rtn_") != std::string::npos;
  replace("_rtn_", "_");
  for (const Name& a : kAtomics) {
    if (s != a.name) continue;
    l->mem.kind = MemKind::kAtomic;
    l->mem.atomic = a.atomic;
    l->mem.bytes = a.bytes;
    l->mem.returns = returns;
    // cmpst has the value to compare with first, cmpstore last.
    *compare_first = s.starts_with("cmpst_");
    return true;
  }
  return false;
}

// What the forms of LDS instructions take, in the order of their text.
class LdsOperands {
 public:
  LdsOperands(const Text& text, Program& program, Op& op, LdsOp& l)
      : text_(text), program_(program), op_(op), l_(l) {}

  // The handler of l's form, whose operands are in `op` and `l` then.
  Handler Take(bool compare_first);
  // All that it needs are vector registers.
  bool AreVectors() const {
    return (!needs_dst_ || op_.dst.vgpr()) &&
           (!needs_address_ || l_.address.vgpr()) &&
           (!needs_data_ || l_.data.vgpr());
  }

 private:
  Operand Next() {
    return i_ < text_.operands.size()
               ? program_.ParseOperand(text_.operands[i_++], Type::kWide)
               : Operand{};
  }
  void TakeDst() {
    op_.dst = Next();
    needs_dst_ = true;
  }
  void TakeAddress() {
    l_.address = Next();
    needs_address_ = true;
  }
  void TakeData() {
    l_.data = Next();
    needs_data_ = true;
  }
  Handler TakeTwo();
  Handler TakePlain(bool compare_first);

  const Text& text_;
  Program& program_;
  Op& op_;
  LdsOp& l_;
  std::size_t i_ = 0;
  bool needs_dst_ = false;
  bool needs_address_ = false;
  bool needs_data_ = false;
};

Handler LdsOperands::Take(bool compare_first) {
  switch (l_.form) {
    case LdsForm::kNop: return [](Wave&, const Op&) {};
    case LdsForm::kSwizzle:
      TakeDst();
      TakeAddress();
      // LLVM's text leaves out the mask of a rotation.
      op_.aux = text_.word & 0xffff;
      return ExecSwizzle;
    case LdsForm::kPermute:
    case LdsForm::kBpermute:
      TakeDst();
      TakeAddress();
      TakeData();
      return l_.form == LdsForm::kPermute ? ExecPermute : ExecBpermute;
    case LdsForm::kAppend:
    case LdsForm::kConsume: TakeDst(); return ExecLdsAppend;
    case LdsForm::kAddtid:
      if (l_.mem.kind == MemKind::kLoad) {
        TakeDst();
      } else {
        TakeData();
      }
      return ExecLdsAddtid;
    case LdsForm::kTwo: return TakeTwo();
    case LdsForm::kCondExchange:
      TakeDst();
      TakeAddress();
      TakeData();
      return ExecCondExchange;
    case LdsForm::kTranspose:
      TakeDst();
      TakeAddress();
      return ExecLdsTranspose;
    case LdsForm::kPlain: return TakePlain(compare_first);
  }
  return ExecUnimplemented;
}

Handler LdsOperands::TakeTwo() {
  l_.offset0 = static_cast<u32>(text_.Number("offset0", 0));
  l_.offset1 = static_cast<u32>(text_.Number("offset1", 0));
  if (l_.mem.kind == MemKind::kLoad || l_.exchange) TakeDst();
  TakeAddress();
  if (l_.mem.kind == MemKind::kStore) {
    TakeData();
    l_.data2 = Next();
  }
  return ExecLdsTwo;
}

Handler LdsOperands::TakePlain(bool compare_first) {
  if (l_.mem.kind == MemKind::kLoad || l_.mem.returns) TakeDst();
  TakeAddress();
  if (l_.mem.kind == MemKind::kLoad) return ExecLdsLoad;
  TakeData();
  l_.data2 = Next();
  if (compare_first) std::swap(l_.data, l_.data2);
  return l_.mem.kind == MemKind::kStore ? ExecLdsStore : ExecLdsAtomic;
}

}  // namespace

bool KnowsLds(std::string_view name) {
  LdsOp l;
  bool compare_first;
  return ParseName(name, &l, &compare_first);
}

bool DecodeLds(const Text& text, Program& program, Op* op) {
  LdsOp l;
  bool compare_first = false;
  if (!ParseName(text.mnemonic, &l, &compare_first)) return false;
  op->klass = OpClass::kLds;
  op->wait = Wait::kLgkmLds;
  op->offset = static_cast<i32>(text.Number("offset", 0));
  LdsOperands operands(text, program, *op, l);
  Handler handler = operands.Take(compare_first);
  if (text.Has("gds") || !operands.AreVectors()) handler = ExecUnimplemented;
  op->flags |= l.mem.SettleHalf(program.gen());
  op->src[0] = l.address;
  op->src[1] = l.data;
  op->src[2] = l.data2;
  op->nsrc = 3;
  op->data = program.Keep(l);
  op->handler.store(handler, std::memory_order_relaxed);
  return true;
}

}  // namespace cerberus::emulator
