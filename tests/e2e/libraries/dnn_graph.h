// cuDNN's graphs as its frontend builds them: descriptors that hold
// descriptors, an engine that the heuristics name, a plan, a pack of pointers.
#include <cudnn.h>

#include <map>

#include "library.h"

using Sizes = std::vector<std::int64_t>;

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    CALL(cudnnBackendCreateDescriptor(type, &made_));
  }
  template <typename T>
  Descriptor& Set(cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type,
                  const std::vector<T>& values) {
    CALL(cudnnBackendSetAttribute(made_, name, type,
                                  std::int64_t(values.size()), values.data()));
    return *this;
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, const Sizes& values) {
    return Set(name, CUDNN_TYPE_INT64, values);
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, cudnnDataType_t type) {
    return Set(name, CUDNN_TYPE_DATA_TYPE, std::vector{type});
  }
  Descriptor& Set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{other.made_});
  }
  Descriptor& Finish() {
    CALL(cudnnBackendFinalize(made_));
    return *this;
  }
  cudnnBackendDescriptor_t get() const { return made_; }

 private:
  cudnnBackendDescriptor_t made_ = nullptr;
};

class Graph {
 public:
  // A packed tensor of the device; without a pointer one that is only between
  // operations.
  Descriptor Tensor(const Sizes& sizes, void* data,
                    cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    Sizes strides(sizes.size(), 1);
    for (std::size_t i = sizes.size() - 1; i > 0; --i) {
      strides[i - 1] = strides[i] * sizes[i];
    }
    return Tensor(sizes, strides, data, type);
  }
  Descriptor Tensor(const Sizes& sizes, const Sizes& strides, void* data,
                    cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const std::int64_t id = ++last_;
    Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
        .Set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .Set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
        .Set(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
        .Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN,
             std::vector<char>{data == nullptr});
    if (data != nullptr) {
      ids_.push_back(id);
      pointers_.push_back(data);
    }
    return tensor.Finish();
  }
  void Add(const Descriptor& operation) {
    operations_.push_back(operation.get());
  }
  void Pointwise(cudnnPointwiseMode_t mode, const Descriptor& x,
                 const Descriptor* b, const Descriptor& y) {
    Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
            std::vector{mode})
        .Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
        .Finish();
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
        .Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (b) operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    Add(operation.Finish());
  }
  void Reduce(cudnnReduceTensorOp_t mode, const Descriptor& x,
              const Descriptor& y) {
    Descriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
            std::vector{mode})
        .Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
        .Finish();
    Descriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how)
        .Set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
        .Set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    Add(operation.Finish());
  }
  void Multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
    Descriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).Finish();
    Descriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how)
        .Set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
        .Set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
        .Set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    Add(operation.Finish());
  }
  // Builds it by the first configuration that a heuristic names.
  void Build(cudnnHandle_t handle) {
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph
        .Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             operations_)
        .Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
             std::vector{handle})
        .Finish();
    Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
             std::vector{CUDNN_HEUR_MODE_INSTANT})
        .Finish();
    Descriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cudnnBackendDescriptor_t found = config.get();
    std::int64_t count = 0;
    CALL(cudnnBackendGetAttribute(
        heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &found));
    EXPECT(count >= 1);
    plan_.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
        .Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
             std::vector{handle})
        .Finish();
    std::int64_t room = -1;
    CALL(cudnnBackendGetAttribute(plan_.get(),
                                  CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                  CUDNN_TYPE_INT64, 1, &count, &room));
    EXPECT(room >= 0);
    pack_.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_)
        .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             pointers_)
        .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
             std::vector<void*>{Zeros<char>(room + 1)})
        .Finish();
  }
  void Run(cudnnHandle_t handle) {
    CALL(cudnnBackendExecute(handle, plan_.get(), pack_.get()));
  }
  void Populate(cudnnHandle_t handle, cudaGraph_t graph) {
    CALL(
        cudnnBackendPopulateCudaGraph(handle, plan_.get(), pack_.get(), graph));
  }
  // With other memory for the n-th tensor that has some.
  void Update(cudnnHandle_t handle, cudaGraph_t graph, std::size_t n,
              void* data) {
    pointers_[n] = data;
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_)
        .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             pointers_)
        .Finish();
    CALL(cudnnBackendUpdateCudaGraph(handle, plan_.get(), pack.get(), graph));
  }

 private:
  std::int64_t last_ = 0;
  Sizes ids_;
  std::vector<void*> pointers_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  Descriptor plan_{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  Descriptor pack_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
};
