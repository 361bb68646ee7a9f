// Executing vector instructions: the handlers that put operands, modifiers
// and EXEC around the loops of valu_*.cc.
//
// What an instruction computes is a loop over the lanes, made from a lambda on
// one lane's values (semantics.h). It knows rows only: a register is a row of
// 32 or 64 words, one for each lane, of 64-bit values two rows. A handler gets
// the rows, in the first way of these that the instruction allows; decoding
// chooses, once:
//
//   ExecLanes   registers in, registers out: the loop works on them in place
//   ExecFlag    the same, with a bit for each lane as its result
//   ExecHalf    half of a register is read or written
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

// No modifiers; writes VGPRs only.
void ExecLanes(Wave& w, const Op& op);
void ExecHalf(Wave& w, const Op& op);
void ExecDpp(Wave& w, const Op& op);
// Writes a lane mask (comparison, carry-out), no modifiers.
void ExecFlag(Wave& w, const Op& op);
// Everything: DPP, SDWA, op_sel, neg, abs, omod, clamp, scalar results.
void ExecFull(Wave& w, const Op& op);
void ExecPacked(Wave& w, const Op& op);
void ExecPacked32(Wave& w, const Op& op);
void ExecMix(Wave& w, const Op& op);
void ExecVopd(Wave& w, const Op& op);
void ExecNop(Wave& w, const Op& op);

// One bit per lane of a row of 0 and all-ones.
u64 PackMask(const u32* row, u32 n);
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
