// LDS instructions (RDNA3 ISA, section 12): what the decoder keeps of one, and
// what executes it.
#ifndef CERBERUS_EMULATOR_ACCESS_LDS_H_
#define CERBERUS_EMULATOR_ACCESS_LDS_H_

#include "emulator/access/memop.h"
#include "emulator/decode/decode.h"

namespace cerberus::emulator {

enum class LdsForm : u8 {
  kPlain,  // one address
  kTwo,    // ds_load_2addr, ds_store_2addr, ds_storexchg_2addr
  kAddtid,
  kTranspose,  // ds_read_b64_tr_b16 and its kin
  kAppend,
  kConsume,
  kSwizzle,
  kPermute,
  kBpermute,
  kNop,
  kCondExchange,
};

struct LdsOp {
  LdsForm form = LdsForm::kPlain;
  MemOp mem;
  u32 offset0 = 0, offset1 = 0, scale = 0;  // kTwo
  Operand address, data, data2;
  bool exchange = false;
  bool fi = false;
  u32 element = 0;  // kTranspose: bits
};

// What executes each form.
void ExecLdsLoad(Wave& w, const Op& op);
void ExecLdsStore(Wave& w, const Op& op);
void ExecLdsTwo(Wave& w, const Op& op);
void ExecLdsAtomic(Wave& w, const Op& op);
void ExecLdsAddtid(Wave& w, const Op& op);
void ExecLdsAppend(Wave& w, const Op& op);
void ExecLdsTranspose(Wave& w, const Op& op);
void ExecSwizzle(Wave& w, const Op& op);
void ExecPermute(Wave& w, const Op& op);
void ExecBpermute(Wave& w, const Op& op);
void ExecCondExchange(Wave& w, const Op& op);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_ACCESS_LDS_H_
