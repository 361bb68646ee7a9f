// A Module as PTX text again: one statement a line, constants as exact bits.
// Parsing the output gives an equal module.
#ifndef CERBERUS_PTXC_FRONT_PRINTER_H_
#define CERBERUS_PTXC_FRONT_PRINTER_H_

#include <string>

#include "ptxc/front/ast.h"

namespace cerberus::ptx {

std::string Print(const Module& module);

// One instruction without its ';', for diagnostics and dumps.
std::string PrintInstruction(const Module& module, const Function& function,
                             const Instruction& instruction);
std::string PrintOperand(const Module& module, const Function& function,
                         const Operand& operand);

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_FRONT_PRINTER_H_
