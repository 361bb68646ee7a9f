// Libraries that only refuse: all that NVIDIA's have is there, and says so in
// its library's way.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/libraries/exported.h"

namespace cerberus::libraries {
namespace {

#define LIBRARY_ANSWERED(name)
#define LIBRARY_REFUSED(name) #name,
const std::vector<const char*> kCupti = {
#include "libraries/refusing/cupti.def"
};

class Library {
 public:
  explicit Library(const std::string& file)
      : file_(file),
        library_(dlopen((std::string(CERBERUS_LIBRARIES) + "/" + file).c_str(),
                        RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  ~Library() {
    if (library_ != nullptr) dlclose(library_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename R = int, typename... A>
  R Call(const char* name, A... arguments) const {
    void* symbol = libraries::ExportedBy(library_, file_, name);
    EXPECT_NE(symbol, nullptr) << name;
    return symbol != nullptr
               ? reinterpret_cast<R (*)(A...)>(symbol)(arguments...)
               : R{};
  }

 private:
  const std::string file_;
  void* const library_;
};

void ExpectRefusals(const Library& library,
                    const std::vector<const char*>& names, int status) {
  ASSERT_FALSE(names.empty());
  for (const char* name : names) {
    void* const out = nullptr;
    EXPECT_EQ(library.Call(name, out, 0, out), status) << name;
  }
}

TEST(Refusing, Cupti) {
  for (const auto& [soname, want] :
       {std::pair("11.7", 17u), {"11.8", 18u}, {"12", 28u}, {"13", 130500u}}) {
    const Library library(std::string("libcupti.so.") + soname);
    ExpectRefusals(library, kCupti, 27);
    unsigned version = 0;
    EXPECT_EQ(library.Call("cuptiGetVersion", &version), 0);
    EXPECT_EQ(version, want);
    const char* text = nullptr;
    EXPECT_EQ(library.Call("cuptiGetResultString", 27, &text), 0);
    EXPECT_STREQ(text, "CUPTI_ERROR_NOT_SUPPORTED");
    EXPECT_EQ(library.Call("cuptiGetErrorMessage", 27, &text), 0);
    EXPECT_EQ(library.Call("cuptiGetResultString", 12345, &text), 1);
  }
}

}  // namespace
}  // namespace cerberus::libraries
