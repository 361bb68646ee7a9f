// A variable of the library that is there from its loading to the end of the
// process: programs call the driver in their own destructors, and where memory
// is short loading must not fail.
#ifndef CERBERUS_SUPPORT_NEVER_DESTROYED_H_
#define CERBERUS_SUPPORT_NEVER_DESTROYED_H_

namespace cerberus {

template <typename T>
class NeverDestroyed {
 public:
  constexpr NeverDestroyed() : value_() {}
  ~NeverDestroyed() {}  // NOLINT: leaves value_ as it is
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  constexpr T& operator*() { return value_; }

 private:
  union {
    T value_;
  };
};

}  // namespace cerberus

#endif  // CERBERUS_SUPPORT_NEVER_DESTROYED_H_
