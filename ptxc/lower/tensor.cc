// Copies by tensor map (devlib/tensor.h), and changes of such maps.
#include <fmt/format.h>

#include <vector>

#include "formats/tensor_map.h"
#include "ptxc/lower/lower.h"

namespace cerberus::ptx {

// What a copy by tensor map names: the map and where the box is, as the device
// library takes them, and the names of its functions for that kind of box.
// Empty if it cannot be.
std::vector<llvm::Value*> FunctionLowering::TensorBox(const Operand& tensor,
                                                      std::string* kind) {
  const Operand& at = child(tensor, tensor.count - 1);
  unsigned count = static_cast<unsigned>(mods().geom()) -
                   static_cast<unsigned>(Geom::kG1d) + 1;
  const unsigned dimensions = count;
  switch (mods().load_mode()) {
    case LoadMode::kTileGather4:
    case LoadMode::kTileScatter4:
      *kind = "_rows";
      count = 5;
      break;
    case LoadMode::kIm2col:
    case LoadMode::kIm2colNoOffs: *kind = "_pixels"; break;
    default: break;
  }
  const bool pixels = *kind == "_pixels";
  if ((*kind == "_rows" && dimensions != 2) || (pixels && dimensions < 3)) {
    FailUnsupported(
        fmt::format("there are no such boxes of {} dimensions", dimensions));
    return {};
  }
  if (at.kind != OperandKind::kVector || at.count != count) {
    Fail(fmt::format("a tensor of {} dimensions has {} coordinates here",
                     dimensions, count));
    return {};
  }
  // [map, {coordinates}]: the map is at an address like any other.
  Operand map = child(tensor, 0);
  map.base = map.kind;
  map.kind = OperandKind::kAddress;
  std::vector<Value*> args = {
      b_.CreateAddrSpaceCast(Address(map, Space::kNone).pointer,
                             llvm::PointerType::get(b_.getContext(), 0))};
  for (unsigned i = 0; i < formats::kTensorDimensions; ++i) {
    args.push_back(i < count ? Read(child(at, i), Type::kS32) : I32(0));
  }
  return args;
}

void FunctionLowering::LowerCpAsyncBulkTensor() {
  const bool loads = mods().space() != Space::kGlobal;
  std::string kind;
  std::vector<Value*> args = TensorBox(op(loads ? 1 : 0), &kind);
  if (args.empty()) return;
  Value* shared = SharedAt(op(loads ? 0 : 1));
  const std::size_t to = args.size();
  args.push_back(shared);
  if (!loads) {
    Dev("tensor_store" + kind, b_.getVoidTy(), args);
    return;
  }
  int next = 3;
  if (kind == "_pixels") {
    const Operand& offsets = op(next++);
    const unsigned count = static_cast<unsigned>(mods().geom()) -
                           static_cast<unsigned>(Geom::kG3d) + 1;
    if (offsets.kind != OperandKind::kVector || offsets.count != count) {
      Fail(fmt::format("im2col has {} offsets here", count));
      return;
    }
    for (unsigned i = 0; i < 3; ++i) {
      args.push_back(i < count
                         ? b_.CreateZExt(Read(child(offsets, i), Type::kU16),
                                         b_.getInt32Ty())
                         : I32(0));
    }
  }
  const auto load = [&](Value* away) {
    args[to] = Moved(shared, away);
    CompleteTx(Moved(SharedAt(op(2)), away),
               Dev("tensor_load" + kind, b_.getInt32Ty(), args));
  };
  if (mods().option() == Option::kMulticast) {
    Multicast(Read(op(next), Type::kU16), load);
  } else {
    load(I32(0));
  }
}

void FunctionLowering::LowerCpReduceAsyncBulkTensor() {
  std::string kind;
  std::vector<Value*> args = TensorBox(op(0), &kind);
  if (args.empty()) return;
  args.push_back(SharedAt(op(1)));
  Dev(fmt::format(
          "tensor_reduce{}_{}", kind,
          ModifierName(ModGroup::kOp, static_cast<std::uint8_t>(mods().op()))),
      b_.getVoidTy(), args);
}

// ---- Changes of a map -------------------------------------------------------

namespace {

// PTX ISA, "tensormap.replace", new_val of .elemtype, as CUtensorMapDataType
// and the logarithm of an element's bytes; types that copies would have to
// change on the way have none.
struct Element {
  int type, log2;
};
Element ElementOf(std::uint64_t value) {
  constexpr Element kElements[] = {
      {0, 0}, {1, 1}, {2, 2},  {3, 2}, {4, 3}, {5, 3},
      {6, 1}, {7, 2}, {-1, 0}, {8, 3}, {9, 1},
  };
  return value < std::size(kElements) ? kElements[value] : Element{-1, 0};
}

}  // namespace

void FunctionLowering::LowerTensormapReplace() {
  Value* map = b_.CreateAddrSpaceCast(
      Address(op(0), mods().space()).pointer,
      llvm::PointerType::get(b_.getContext(), kAsGeneric));
  const auto set = [&](const char* field, std::vector<Value*> values) {
    values.insert(values.begin(), map);
    Dev(fmt::format("tensormap_{}", field), b_.getVoidTy(), values);
  };
  const auto dimension = [&](std::uint64_t count) -> Value* {
    if (op(1).bits >= count) {
      Fail(fmt::format("dimension {}, expected one below {}", op(1).bits,
                       count));
    }
    return I32(op(1).bits);
  };
  constexpr std::uint64_t kAll = formats::kTensorDimensions;
  switch (mods().field()) {
    case Field::kGlobalAddress:
      set("address", {Read(op(1), Type::kB64)});
      break;
    case Field::kRank: set("rank", {Read(op(1), Type::kB32)}); break;
    case Field::kBoxDim:
      set("box", {dimension(kAll), Read(op(2), Type::kB32)});
      break;
    case Field::kGlobalDim:
      set("size", {dimension(kAll), Read(op(2), Type::kB32)});
      break;
    case Field::kElementStride:
      set("step", {dimension(kAll), Read(op(2), Type::kB32)});
      break;
    case Field::kGlobalStride: {
      // Compilers before PTX 8.5 left the lowest four bits out.
      const bool in_16 = module_.ptx().version < 85;
      Value* stride = Read(op(2), Type::kB64);
      set("stride",
          {dimension(kAll - 1), in_16 ? b_.CreateShl(stride, 4) : stride});
      break;
    }
    case Field::kElemtype: {
      const Element element = ElementOf(op(1).bits);
      if (element.type < 0) {
        FailUnsupported("copies do not change elements on their way");
        return;
      }
      set("type", {I32(static_cast<std::uint64_t>(element.type)),
                   I32(static_cast<std::uint64_t>(element.log2))});
      break;
    }
    case Field::kSwizzleMode:
      if (op(1).bits > 3) {
        FailUnsupported("swizzling is within 32, 64 and 128 bytes");
        return;
      }
      set("swizzle", {I32(op(1).bits)});
      break;
    default:
      // What is zero in all maps that are supported.
      if (op(1).bits != 0) {
        FailUnsupported(
            "tensors are not interleaved, zero outside, and "
            "swizzled by 16 bytes");
      }
  }
}

// A warp moves a map from shared to device memory. The fence is for all that
// was written before.
void FunctionLowering::LowerTensormapCp() {
  Dev("tensormap_copy", b_.getVoidTy(),
      {Address(op(0), Space::kGlobal).pointer, SharedAt(op(1))});
  Fence(llvm::AtomicOrdering::Release, SyncScope(mods().scope()));
}

}  // namespace cerberus::ptx
