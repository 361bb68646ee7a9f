// Executing vector instructions: the handlers that put operands, modifiers
// and EXEC around the loops of valu_*.cc.
//
// What an instruction computes is a loop over the lanes, made from a lambda on
// one lane's values (semantics.h). It knows rows only: a register is a row of
// 32 or 64 words, one for each lane, of 64-bit values two rows. A handler gets
// the rows, in the first way of these that the instruction allows; decoding
// chooses, once:
//
//   the row's own (lane_loop.h)    nothing but registers, halves and numbers:
//               the loop stands in the handler and works on them in place
//   ExecDpp     the first source comes from other lanes
//   ExecPacked, ExecPacked32, ExecMix, ExecVopd    encodings of their own
//   ExecFull    anything: sources are copied, changed by their modifiers, and
//               results by theirs, a step after the other
//
// All must agree where they overlap: they differ in speed only.
// Lanes that EXEC leaves out compute, too, where that does no harm, and what
// comes out is not written (LaneArgs::mask): a loop without branches is one
// that the host's vector unit can do.
#ifndef CERBERUS_EMULATOR_VECTOR_VALU_H_
#define CERBERUS_EMULATOR_VECTOR_VALU_H_

#include "emulator/execute/semantics.h"

namespace cerberus::emulator {

void ExecDpp(Wave& w, const Op& op);
// Everything: DPP, SDWA, op_sel, neg, abs, omod, clamp, scalar results.
void ExecFull(Wave& w, const Op& op);
void ExecPacked(Wave& w, const Op& op);
void ExecPacked32(Wave& w, const Op& op);
void ExecMix(Wave& w, const Op& op);
void ExecVopd(Wave& w, const Op& op);
void ExecVopdInTurn(Wave& w, const Op& op);
void ExecNop(Wave& w, const Op& op);

// An instruction's lane mask goes where it says.
CERBERUS_EMU_INLINE void WriteFlag(Wave& w, const Op& op, u64 bits) {
  if ((op.flags & kFlagWritesExec) != 0) {
    w.SetExec(bits);
    if (op.sdst.sgpr()) w.SetMaskAt(op.sdst.reg, bits);
  } else if (op.sdst.reg != kNull) {
    w.SetMaskAt(op.sdst.reg, bits);
  }
}

// A row of 0 and all-ones from one bit a lane.
void ExpandMask(u64 bits, u32* row, u32 n);
// The lanes a DPP control reads from; -1 where there is none.
int DppSource(const Dpp& dpp, int lane, int lanes);
// Works out a control's tables, once.
void PrepareDpp(Dpp* dpp, u32 lanes);
// Applies DPP to a source row. Lanes that must not be written are removed
// from `*write`.
void ApplyDpp(const Dpp& dpp, u64 exec, u32 lanes, const u32* in, u32* out,
              u64* write);

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_VECTOR_VALU_H_
