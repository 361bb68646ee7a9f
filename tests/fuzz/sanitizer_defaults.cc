// What the sanitizers do in libFuzzer programs: undefined behaviour ends the
// run, as an address error does.
//
// LLVM's allocators mark memory as poisoned where they were compiled with
// AddressSanitizer, which the library's own copies are not: those marks mean
// nothing here.
extern "C" const char* __ubsan_default_options();
extern "C" const char* __ubsan_default_options() {
  return "halt_on_error=1:print_stacktrace=1";
}
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allow_user_poisoning=0:detect_odr_violation=0";
}
