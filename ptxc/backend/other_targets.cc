// lld makes every target of its LLVM ready, in case it meets bitcode. Here it
// links AMD objects only, so the other targets are functions that do nothing
// and their code generators stay out of the library.
#define LLVMInitializeAMDGPUTargetInfo CerberusLinkedTargetInfo
#define LLVMInitializeAMDGPUTarget CerberusLinkedTarget
#define LLVMInitializeAMDGPUTargetMC CerberusLinkedTargetMC
#define LLVMInitializeAMDGPUAsmPrinter CerberusLinkedAsmPrinter
#define LLVMInitializeAMDGPUAsmParser CerberusLinkedAsmParser

extern "C" {
#define LLVM_TARGET(target)                    \
  void LLVMInitialize##target##TargetInfo() {} \
  void LLVMInitialize##target##Target() {}     \
  void LLVMInitialize##target##TargetMC() {}
#include "llvm/Config/Targets.def"

#define LLVM_ASM_PRINTER(target) \
  void LLVMInitialize##target##AsmPrinter() {}
#include "llvm/Config/AsmPrinters.def"

#define LLVM_ASM_PARSER(target) \
  void LLVMInitialize##target##AsmParser() {}
#include "llvm/Config/AsmParsers.def"
}
