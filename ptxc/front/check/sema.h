// Checks of a parsed module: operands against the instruction table, names,
// call signatures, initialisers.
//
// Errors are reported for each instruction, up to a limit; a function with
// errors has Function::errors > 0. That PTX needs a newer .version or .target
// than it states is only a warning: what runs it is not that hardware.
#ifndef CERBERUS_PTXC_FRONT_CHECK_SEMA_H_
#define CERBERUS_PTXC_FRONT_CHECK_SEMA_H_

#include "ptxc/front/ast.h"
#include "support/diag.h"

namespace cerberus::ptx {

// Returns the number of errors; `module_errors`, if not null, gets those
// outside of functions.
int Check(Module& module, const DiagSink& sink, int* module_errors = nullptr);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_CHECK_SEMA_H_
