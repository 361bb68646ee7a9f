#include "libraries/cudnn/descriptor.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "libraries/cudnn/operations.h"
#include "libraries/cudnn/plan_text.h"
#include "libraries/cudnn/status.h"

namespace cerberus::libraries::cudnn {
namespace {

enum Flag { kRequired, kOptional, kReadOnly };
constexpr Index kMany = -1;

struct Row {
  int name;
  Kind kind;
  Type type, or_type;
  Index most;
  Flag flag;
};
constexpr Row kRows[] = {
#define CUDNN_ATTRIBUTE(name, number, kind, type, or_type, most, flag) \
  {number, Kind::kind, Type::type, Type::or_type, most, flag},
#include "libraries/cudnn/attributes.def"
#undef CUDNN_ATTRIBUTE
};

const Row* FindRow(Kind kind, int name) {
  for (const Row& row : kRows) {
    if (row.name == name && row.kind == kind) return &row;
  }
  return nullptr;
}
// Why a descriptor has no such attribute.
Status NoAttribute(int name) {
  for (const Row& row : kRows) {
    if (row.name == name) return Failed(kBadParam, "another's attribute");
  }
  return Failed(kNotSupported, "an attribute that is not known");
}
bool Takes(const Row& row, Type type) {
  return row.type == Type::kAny || row.type == type || row.or_type == type;
}

Value WholeNumber(Index number) {
  Value value{Type::kInt64, 1, std::vector<std::byte>(8), {}};
  std::memcpy(value.bytes.data(), &number, sizeof number);
  return value;
}
Value Text(const std::string& text) {
  Value value{Type::kChar, static_cast<Index>(text.size() + 1), {}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
  value.bytes.assign(bytes, bytes + text.size() + 1);
  return value;
}

// The one engine for a graph, and the one way to set it.
std::shared_ptr<Descriptor> EngineFor(
    const std::shared_ptr<const Descriptor>& graph) {
  auto engine = std::make_shared<Descriptor>(Kind::kEngine);
  engine->attributes[attribute::ENGINE_OPERATION_GRAPH] = {
      Type::kDescriptor, 1, {}, {graph}};
  engine->attributes[attribute::ENGINE_GLOBAL_INDEX] = WholeNumber(0);
  engine->graph = graph->graph;
  engine->finalized = true;
  auto config = std::make_shared<Descriptor>(Kind::kEngineConfig);
  config->attributes[attribute::ENGINECFG_ENGINE] = {
      Type::kDescriptor, 1, {}, {engine}};
  config->graph = graph->graph;
  config->finalized = true;
  return config;
}

// What a finalized descriptor says without having been told it.
Value Computed(const Descriptor& d, const Row& row) {
  switch (row.name) {
    case attribute::ENGINEHEUR_RESULTS: {
      const auto& graph =
          d.attributes.at(attribute::ENGINEHEUR_OPERATION_GRAPH).descriptors[0];
      return {Type::kDescriptor, 1, {}, {EngineFor(graph)}};
    }
    case attribute::OPERATIONGRAPH_ENGINE_GLOBAL_COUNT: return WholeNumber(1);
    case attribute::ENGINECFG_WORKSPACE_SIZE:
    case attribute::EXECUTION_PLAN_WORKSPACE_SIZE:
    case attribute::KERNEL_CACHE_REVISION:
    case attribute::KERNEL_CACHE_ENTRY_COUNT: return WholeNumber(0);
    case attribute::ENGINE_BEHAVIOR_NOTE: {
      // CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API
      std::vector<std::byte> note(4);
      note[0] = std::byte{3};
      return {Type::kBehaviorNote, 1, std::move(note), {}};
    }
    case attribute::ENGINECFG_SHARED_MEMORY_USED:
      return {Type::kInt32, 1, std::vector<std::byte>(4), {}};
    case attribute::EXECUTION_PLAN_JSON_REPRESENTATION:
      return Text(PlanText(d));
    case attribute::KERNEL_CACHE_JSON_REPRESENTATION:
    case attribute::DEVICEPROP_JSON_REPRESENTATION: return Text("{}");
    default: return {row.type, 0, {}, {}};  // of no elements
  }
}

// Whether an attribute is set to something; a list of numbers may be empty.
bool IsGiven(const Descriptor& d, const Row& row) {
  const auto found = d.attributes.find(row.name);
  if (found == d.attributes.end()) return false;
  return found->second.count > 0 ||
         (row.most == kMany && row.type != Type::kDescriptor);
}

Status FinalizeTensor(Descriptor* d) {
  auto made = std::make_shared<GraphTensor>();
  Tensor& tensor = made->tensor;
  made->uid = d->Int(attribute::TENSOR_UNIQUE_ID);
  made->is_virtual = d->Int(attribute::TENSOR_IS_VIRTUAL) != 0;
  made->by_value = d->Int(attribute::TENSOR_IS_BY_VALUE) != 0;
  tensor.type = static_cast<DataType>(d->Int(attribute::TENSOR_DATA_TYPE));
  tensor.sizes = d->Ints(attribute::TENSOR_DIMENSIONS);
  tensor.strides = d->Ints(attribute::TENSOR_STRIDES);
  tensor.vector_count = d->Int(attribute::TENSOR_VECTOR_COUNT, 1);
  if (tensor.vector_count != 1) {
    tensor.vector_dimension = static_cast<std::size_t>(
        d->Int(attribute::TENSOR_VECTORIZED_DIMENSION));
  }
  if (BitsOf(tensor.type) == 0) {
    return Failed(kUnsupportedType, "a tensor of a type that is not computed");
  }
  if (d->Int(attribute::TENSOR_REORDERING_MODE) != 0) {
    return Failed(kUnsupportedLayout, "a reordered tensor");
  }
  if (!tensor.IsAddressable()) {
    return Failed(kBadParam, "a tensor's dimensions and strides");
  }
  if (d->Has(attribute::TENSOR_RAGGED_OFFSET_DESC)) {
    made->starts = d->Of(attribute::TENSOR_RAGGED_OFFSET_DESC)->tensor;
    made->unit = d->Int(attribute::TENSOR_RAGGED_OFFSET_MULTIPLIER, 1);
    if (made->starts == nullptr || made->starts->starts != nullptr ||
        ProductOf(made->starts->tensor.sizes) != tensor.sizes[0] + 1 ||
        made->unit < 1 || tensor.vector_count > 1) {
      return Failed(kBadParam, "a ragged tensor's offsets");
    }
  }
  if (tensor.vector_count > 1) {
    // The dimension counts vectors, here elements.
    tensor.sizes[tensor.vector_dimension] *= tensor.vector_count;
  }
  if (d->Has(attribute::TENSOR_CONSTANT_VALUE)) {
    made->constant = d->attributes.at(attribute::TENSOR_CONSTANT_VALUE).bytes;
    made->by_value = true;
    if (made->constant.size() < tensor.SpanBytes()) {
      return Failed(kSizeInsufficient, "a tensor's constant value");
    }
  }
  d->tensor = std::move(made);
  return kSuccess;
}

Status FinalizeOperationGraph(Descriptor* d) {
  if (d->Int(attribute::OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED) != 0) {
    return Failed(kNotSupported, "shapes that are told at execution");
  }
  std::vector<std::shared_ptr<const Node>> nodes;
  for (const auto& operation : d->All(attribute::OPERATIONGRAPH_OPS)) {
    if (operation->node == nullptr) {
      return Failed(kDescriptorType, "a graph takes operations only");
    }
    nodes.push_back(operation->node);
  }
  return MakeGraph(std::move(nodes), &d->graph);
}

Status TakeGraph(Descriptor* d, const Descriptor* from, Kind kind) {
  if (from->kind != kind) {
    return Failed(kDescriptorType, "a descriptor of another kind");
  }
  if (!from->graph->open.empty()) {
    return Failed(kBadParam, "a virtual tensor is read and never written");
  }
  d->graph = from->graph;
  return kSuccess;
}

Status FinalizeSpecial(Descriptor* d) {
  switch (d->kind) {
    case Kind::kTensor: return FinalizeTensor(d);
    case Kind::kOperationGraph: return FinalizeOperationGraph(d);
    case Kind::kEngine:
      if (d->Int(attribute::ENGINE_GLOBAL_INDEX) != 0) {
        return Failed(kNotSupported, "there is one engine, with index 0");
      }
      return TakeGraph(d, d->Of(attribute::ENGINE_OPERATION_GRAPH),
                       Kind::kOperationGraph);
    case Kind::kEngineHeuristics:
      return TakeGraph(d, d->Of(attribute::ENGINEHEUR_OPERATION_GRAPH),
                       Kind::kOperationGraph);
    case Kind::kEngineConfig:
      if (!d->All(attribute::ENGINECFG_KNOB_CHOICES).empty()) {
        return Failed(kNotSupported, "the engine has no knobs");
      }
      return TakeGraph(d, d->Of(attribute::ENGINECFG_ENGINE), Kind::kEngine);
    case Kind::kExecutionPlan:
      return TakeGraph(d, d->Of(attribute::EXECUTION_PLAN_ENGINE_CONFIG),
                       Kind::kEngineConfig);
    case Kind::kVariantPack:
      if (d->Ints(attribute::VARIANT_PACK_UNIQUE_IDS).size() !=
          d->Pointers(attribute::VARIANT_PACK_DATA_POINTERS).size()) {
        return Failed(kBadParam, "as many ids as pointers are expected");
      }
      return kSuccess;
    case Kind::kConvolution: {
      const auto spatial =
          static_cast<std::size_t>(d->Int(attribute::CONVOLUTION_SPATIAL_DIMS));
      for (const Name name : {attribute::CONVOLUTION_DILATIONS,
                              attribute::CONVOLUTION_FILTER_STRIDES,
                              attribute::CONVOLUTION_PRE_PADDINGS,
                              attribute::CONVOLUTION_POST_PADDINGS}) {
        if (d->Ints(name).size() != spatial) {
          return Failed(kBadParam, "one number for each spatial dimension");
        }
      }
      return kSuccess;
    }
    case Kind::kKnobInfo:
    case Kind::kLayoutInfo:
      return Failed(kNotSupported, "a descriptor that is only read");
    default: return MakeNode(*d, &d->node);
  }
}

}  // namespace

std::size_t SizeOf(Type type) {
  switch (type) {
    case Type::kBoolean:
    case Type::kChar: return 1;
    case Type::kHandle:
    case Type::kInt64:
    case Type::kDouble:
    case Type::kVoidPointer:
    case Type::kDescriptor: return 8;
    case Type::kFraction: return 16;
    default: return 4;  // enumerations, f32, i32
  }
}

Index Descriptor::Int(Name name, Index otherwise) const {
  const auto found = attributes.find(name);
  if (found == attributes.end() || found->second.count < 1) return otherwise;
  const Value& value = found->second;
  switch (SizeOf(value.type)) {
    case 1: return std::to_integer<Index>(value.bytes[0]);
    case 4: {
      std::int32_t number;
      std::memcpy(&number, value.bytes.data(), sizeof number);
      return number;
    }
    default: return Ints(name)[0];
  }
}
double Descriptor::Number(Name name, double otherwise) const {
  const auto found = attributes.find(name);
  if (found == attributes.end() || found->second.count < 1) return otherwise;
  if (found->second.type == Type::kFloat) {
    float number;
    std::memcpy(&number, found->second.bytes.data(), sizeof number);
    return number;
  }
  double number;
  std::memcpy(&number, found->second.bytes.data(), sizeof number);
  return number;
}
Sizes Descriptor::Ints(Name name) const {
  const auto found = attributes.find(name);
  if (found == attributes.end() || found->second.bytes.empty()) return {};
  Sizes numbers(found->second.bytes.size() / 8);
  std::memcpy(numbers.data(), found->second.bytes.data(), numbers.size() * 8);
  return numbers;
}
std::vector<double> Descriptor::Numbers(Name name) const {
  const Sizes parts = Ints(name);
  std::vector<double> numbers;
  if (Has(name) && attributes.at(name).type == Type::kFraction) {
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
      numbers.push_back(static_cast<double>(parts[i]) /
                        static_cast<double>(parts[i + 1]));
    }
  } else {
    numbers.assign(parts.begin(), parts.end());
  }
  return numbers;
}
std::vector<void*> Descriptor::Pointers(Name name) const {
  std::vector<void*> pointers;
  for (const Index number : Ints(name)) {
    pointers.push_back(reinterpret_cast<void*>(number));
  }
  return pointers;
}
std::vector<std::shared_ptr<const Descriptor>> Descriptor::All(
    Name name) const {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return {};
  return found->second.descriptors;
}
const Descriptor* Descriptor::Of(Name name) const {
  const auto found = attributes.find(name);
  if (found == attributes.end() || found->second.descriptors.empty()) {
    return nullptr;
  }
  return found->second.descriptors[0].get();
}

bool IsKind(int number) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return static_cast<int>(row.kind) == number;
  });
}

Status SetAttribute(Descriptor* d, int name, int type, Index count,
                    const void* elements) {
  if (d == nullptr || (elements == nullptr && count != 0)) {
    return Failed(kNullPointer, "a descriptor and its elements are expected");
  }
  if (d->finalized) {
    return Failed(kNotInitialized, "the descriptor is finalized already");
  }
  const Row* row = FindRow(d->kind, name);
  if (row == nullptr) return NoAttribute(name);
  if (row->flag == kReadOnly) {
    return Failed(kNotSupported, "the attribute is only read");
  }
  const auto told = static_cast<Type>(type);
  if (!Takes(*row, told)) {
    return Failed(kAttributeType, "the attribute has another type");
  }
  if (count < 0 || (row->most != kMany && count > row->most)) {
    return Failed(kBadParam, "the attribute has another number of elements");
  }
  Value value{told, count, {}, {}};
  if (told == Type::kDescriptor) {
    const auto* given = static_cast<Descriptor* const*>(elements);
    for (Index i = 0; i < count; ++i) {
      if (given[i] == nullptr) return Failed(kNullPointer, "a descriptor");
      if (!given[i]->finalized) {
        return Failed(kNotFinalized, "a descriptor that is not finalized");
      }
      value.descriptors.push_back(std::make_shared<Descriptor>(*given[i]));
    }
  } else {
    const auto* bytes = static_cast<const std::byte*>(elements);
    value.bytes.assign(bytes,
                       bytes + static_cast<std::size_t>(count) * SizeOf(told));
  }
  d->attributes[name] = std::move(value);
  return kSuccess;
}

Status GetAttribute(const Descriptor& d, int name, int type, Index room,
                    Index* count, void* elements) {
  const Row* row = FindRow(d.kind, name);
  if (row == nullptr) return NoAttribute(name);
  if (!d.finalized) {
    return Failed(kNotFinalized, "the descriptor is not finalized");
  }
  if (!Takes(*row, static_cast<Type>(type))) {
    return Failed(kAttributeType, "the attribute has another type");
  }
  const auto set = d.attributes.find(name);
  const Value value = set != d.attributes.end() && row->flag != kReadOnly
                          ? set->second
                          : Computed(d, *row);
  if (value.count > 0 && value.type != static_cast<Type>(type)) {
    return Failed(kAttributeType, "the attribute was set with another type");
  }
  if (count != nullptr) *count = value.count;
  const Index given = std::min(room, value.count);
  if (given <= 0) return kSuccess;
  if (elements == nullptr) {
    return count != nullptr ? kSuccess : Failed(kNullPointer, "no room");
  }
  if (value.type == Type::kDescriptor) {
    auto* const* to = static_cast<Descriptor* const*>(elements);
    for (Index i = 0; i < given; ++i) {
      const Descriptor& from = *value.descriptors[static_cast<std::size_t>(i)];
      if (to[i] == nullptr || to[i]->kind != from.kind) {
        return Failed(kBadParam, "descriptors of that kind are expected");
      }
      *to[i] = from;
    }
  } else {
    std::memcpy(elements, value.bytes.data(),
                static_cast<std::size_t>(given) * SizeOf(value.type));
  }
  return kSuccess;
}

Status Finalize(Descriptor* d) {
  if (d == nullptr) return Failed(kNullPointer, "no descriptor");
  if (d->finalized) return kSuccess;
  // A plan may be read from the text of another.
  if (d->Has(attribute::EXECUTION_PLAN_JSON_REPRESENTATION) &&
      d->kind == Kind::kExecutionPlan) {
    const Value& text =
        d->attributes.at(attribute::EXECUTION_PLAN_JSON_REPRESENTATION);
    std::string_view view(reinterpret_cast<const char*>(text.bytes.data()),
                          text.bytes.size());
    view = view.substr(0, view.find('\0'));
    Descriptor read(d->kind);
    if (const Status bad = ReadPlan(view, &read)) return bad;
    *d = std::move(read);
    return kSuccess;
  }
  for (const Row& row : kRows) {
    if (row.kind == d->kind && row.flag == kRequired && !IsGiven(*d, row)) {
      return Failed(kBadParam, "an attribute that is required is not set");
    }
  }
  if (const Status bad = FinalizeSpecial(d)) return bad;
  d->finalized = true;
  return kSuccess;
}

}  // namespace cerberus::libraries::cudnn
