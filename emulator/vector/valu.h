// Executing vector instructions: the handlers that put operands, modifiers
// and EXEC around the loops of valu_*.cc.
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
