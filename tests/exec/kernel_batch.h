// Kernels of many spellings in one module: compiling is what costs.
#ifndef CERBERUS_TESTS_EXEC_KERNEL_BATCH_H_
#define CERBERUS_TESTS_EXEC_KERNEL_BATCH_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/exec/ptx_runner.h"

namespace cerberus::exec {

// Compiles 64 kernels at a time and runs each. If a module does not compile,
// its kernels are compiled one by one, so that the failure names them.
class KernelBatch {
 public:
  using Run = std::function<void(PtxModule&, const std::string& kernel)>;

  explicit KernelBatch(std::string header) : header_(std::move(header)) {}
  ~KernelBatch() { Flush(); }
  KernelBatch(const KernelBatch&) = delete;
  KernelBatch& operator=(const KernelBatch&) = delete;

  // The name the next kernel must have.
  std::string NextName() const { return "k" + std::to_string(count_); }
  // `what`: the spelling, for messages.
  void Add(std::string what, std::string text, Run run) {
    kernels_.push_back(
        {NextName(), std::move(what), std::move(text), std::move(run)});
    ++count_;
    if (kernels_.size() == 64) Flush();
  }
  void Flush() {
    std::string text = header_;
    for (const Kernel& kernel : kernels_) text += kernel.text;
    if (kernels_.empty()) return;
    Result<std::unique_ptr<PtxModule>> module = PtxModule::Compile(text);
    for (const Kernel& kernel : kernels_) {
      SCOPED_TRACE(kernel.what);
      if (module) {
        kernel.run(**module, kernel.name);
        continue;
      }
      Result<std::unique_ptr<PtxModule>> alone =
          PtxModule::Compile(header_ + kernel.text);
      if (alone) {
        kernel.run(**alone, kernel.name);
      } else {
        ADD_FAILURE() << alone.error().ToString() << kernel.text;
      }
    }
    kernels_.clear();
  }

 private:
  struct Kernel {
    std::string name;
    std::string what;
    std::string text;
    Run run;
  };
  std::string header_;
  std::vector<Kernel> kernels_;
  std::size_t count_ = 0;
};

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_KERNEL_BATCH_H_
