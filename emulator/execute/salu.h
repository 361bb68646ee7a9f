// How scalar instructions are written down: a lambda on the values of the
// scalar operands. Its first parameter gives SCC and the wave.
#ifndef CERBERUS_EMULATOR_EXECUTE_SALU_H_
#define CERBERUS_EMULATOR_EXECUTE_SALU_H_

#include "emulator/decode/decode.h"
#include "emulator/execute/semantics.h"

namespace cerberus::emulator {

struct Sx {
  Wave& w;
  const Op& op;
  void Scc(bool v) const { w.scc = v ? 1 : 0; }
  u32 scc() const { return w.scc; }
  u32 dst32() const { return ReadScalar(w, op.dst); }
  u64 dst64() const { return ReadScalar64(w, op.dst); }
};

template <typename T>
T LoadScalar(const Wave& w, const Operand& o) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(ReadScalar64(w, o));
  } else if constexpr (std::is_same_v<T, H>) {
    return H{HalfToFloat(static_cast<u16>(ReadScalar(w, o)),
                         (w.mode.denorm64 & 1) == 0)};
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(ReadScalar(w, o));
  } else {
    return static_cast<T>(ReadScalar(w, o));
  }
}

template <typename T>
void StoreScalar(Wave& w, const Operand& o, T v) {
  if constexpr (std::is_same_v<T, H>) {
    WriteScalar(w, o,
                FloatToHalf(v.v, w.mode.round64, (w.mode.denorm64 & 2) == 0));
  } else if constexpr (sizeof(T) == 8) {
    WriteScalar64(w, o, std::bit_cast<u64>(v));
  } else {
    WriteScalar(w, o, std::bit_cast<u32>(v));
  }
}

template <typename Sig>
struct ScalarSig;
template <typename R, typename... A>
struct ScalarSig<R (*)(const Sx&, A...)> {
  using Result = R;
  static constexpr int kCount = sizeof...(A);
  static constexpr Type kTypes[5] = {TypeOf<A>()...};
  template <auto F, std::size_t... I>
  static R Call(Wave& w, const Op& op, std::index_sequence<I...>) {
    return F(Sx{w, op}, LoadScalar<A>(w, op.src[I])...);
  }
  template <auto F>
  static R Run(Wave& w, const Op& op) {
    return Call<F>(w, op, std::make_index_sequence<sizeof...(A)>());
  }
};

template <auto F>
void ScalarHandler(Wave& w, const Op& op) {
  using Sig = ScalarSig<decltype(+F)>;
  if (op.env != Env::kNone) ApplyEnv(w, op.env);
  if constexpr (std::is_void_v<typename Sig::Result>) {
    Sig::template Run<F>(w, op);
  } else {
    StoreScalar(w, op.dst, Sig::template Run<F>(w, op));
  }
}

template <auto F>
constexpr Semantic S(Type written = Type::kNone, OpClass klass = OpClass::kSalu,
                     u32 flags = 0) {
  using Sig = ScalarSig<decltype(+F)>;
  Semantic s;
  s.handler = &ScalarHandler<F>;
  s.nsrc = Sig::kCount;
  for (int i = 0; i < Sig::kCount; ++i) s.src[i] = Sig::kTypes[i];
  if constexpr (!std::is_void_v<typename Sig::Result>) {
    s.dst = TypeOf<typename Sig::Result>();
  } else {
    s.dst = written;
  }
  for (int i = -1; i < Sig::kCount; ++i) {
    const Type t = i < 0 ? s.dst : s.src[i];
    if (t == Type::kF32) s.env = Env::kF32;
    if (t == Type::kF16) s.env = Env::kF64;
  }
  s.klass = klass;
  s.flags = flags | kRowNoMods;
  return s;
}

// A handler that reads the instruction's text itself.
constexpr Semantic Raw(Handler h, OpClass klass = OpClass::kSync) {
  Semantic s;
  s.handler = h;
  s.klass = klass;
  s.flags = kRowRaw;
  return s;
}

inline const Text& TextOf(const Op& op) {
  return *static_cast<const Text*>(op.data);
}

}  // namespace cerberus::emulator

#endif  // CERBERUS_EMULATOR_EXECUTE_SALU_H_
