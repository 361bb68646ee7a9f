// What the programs here call of cuDNN, declared after NVIDIA's documentation.
#ifndef CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUDNN_H_
#define CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUDNN_H_
#include <cuda_runtime.h>

#include <cstdint>

enum cudnnStatus_t : int { CUDNN_STATUS_SUCCESS = 0 };
using cudnnHandle_t = struct cudnnContext*;
using cudnnActivationDescriptor_t = struct cudnnActivationStruct*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
enum cudnnBackendDescriptorType_t : int {
  CUDNN_BACKEND_POINTWISE_DESCRIPTOR = 0,
  CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR = 1,
  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3,
  CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4,
  CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR = 10,
  CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR = 13,
  CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15,
  CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16,
  CUDNN_BACKEND_TENSOR_DESCRIPTOR = 17,
  CUDNN_BACKEND_MATMUL_DESCRIPTOR = 18,
  CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR = 19,
  CUDNN_BACKEND_REDUCTION_DESCRIPTOR = 21,
  CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR = 22
};
using cudnnBackendDescriptor_t = void*;
enum cudnnBackendAttributeName_t : int {
  CUDNN_ATTR_POINTWISE_MODE = 0,
  CUDNN_ATTR_POINTWISE_MATH_PREC = 1,
  CUDNN_ATTR_CONVOLUTION_COMP_TYPE = 100,
  CUDNN_ATTR_CONVOLUTION_CONV_MODE = 101,
  CUDNN_ATTR_CONVOLUTION_DILATIONS = 102,
  CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES = 103,
  CUDNN_ATTR_CONVOLUTION_POST_PADDINGS = 104,
  CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS = 105,
  CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS = 106,
  CUDNN_ATTR_ENGINEHEUR_MODE = 200,
  CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201,
  CUDNN_ATTR_ENGINEHEUR_RESULTS = 202,
  CUDNN_ATTR_EXECUTION_PLAN_HANDLE = 400,
  CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401,
  CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA = 700,
  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA = 701,
  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC = 702,
  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W = 703,
  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X = 704,
  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y = 705,
  CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR = 750,
  CUDNN_ATTR_OPERATION_POINTWISE_XDESC = 751,
  CUDNN_ATTR_OPERATION_POINTWISE_BDESC = 752,
  CUDNN_ATTR_OPERATION_POINTWISE_YDESC = 753,
  CUDNN_ATTR_OPERATIONGRAPH_HANDLE = 800,
  CUDNN_ATTR_OPERATIONGRAPH_OPS = 801,
  CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT = 900,
  CUDNN_ATTR_TENSOR_DATA_TYPE = 901,
  CUDNN_ATTR_TENSOR_DIMENSIONS = 902,
  CUDNN_ATTR_TENSOR_STRIDES = 903,
  CUDNN_ATTR_TENSOR_UNIQUE_ID = 906,
  CUDNN_ATTR_TENSOR_IS_VIRTUAL = 907,
  CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 1000,
  CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 1001,
  CUDNN_ATTR_VARIANT_PACK_WORKSPACE = 1003,
  CUDNN_ATTR_MATMUL_COMP_TYPE = 1500,
  CUDNN_ATTR_OPERATION_MATMUL_ADESC = 1520,
  CUDNN_ATTR_OPERATION_MATMUL_BDESC = 1521,
  CUDNN_ATTR_OPERATION_MATMUL_CDESC = 1522,
  CUDNN_ATTR_OPERATION_MATMUL_DESC = 1523,
  CUDNN_ATTR_REDUCTION_OPERATOR = 1600,
  CUDNN_ATTR_REDUCTION_COMP_TYPE = 1601,
  CUDNN_ATTR_OPERATION_REDUCTION_XDESC = 1610,
  CUDNN_ATTR_OPERATION_REDUCTION_YDESC = 1611,
  CUDNN_ATTR_OPERATION_REDUCTION_DESC = 1612
};
enum cudnnBackendAttributeType_t : int {
  CUDNN_TYPE_HANDLE = 0,
  CUDNN_TYPE_DATA_TYPE = 1,
  CUDNN_TYPE_BOOLEAN = 2,
  CUDNN_TYPE_INT64 = 3,
  CUDNN_TYPE_FLOAT = 4,
  CUDNN_TYPE_VOID_PTR = 6,
  CUDNN_TYPE_CONVOLUTION_MODE = 7,
  CUDNN_TYPE_HEUR_MODE = 8,
  CUDNN_TYPE_POINTWISE_MODE = 14,
  CUDNN_TYPE_BACKEND_DESCRIPTOR = 15,
  CUDNN_TYPE_REDUCTION_OPERATOR_TYPE = 18
};
enum cudnnBatchNormMode_t : int { CUDNN_BATCHNORM_SPATIAL = 1 };
using cudnnFilterDescriptor_t = struct cudnnFilterStruct*;
using cudnnConvolutionDescriptor_t = struct cudnnConvolutionStruct*;
enum cudnnConvolutionBwdDataAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1
};
enum cudnnConvolutionBwdFilterAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 = 1
};
enum cudnnConvolutionFwdAlgo_t : int {};
using cudnnDropoutDescriptor_t = struct cudnnDropoutStruct*;
using cudnnPoolingDescriptor_t = struct cudnnPoolingStruct*;
using cudnnRNNDataDescriptor_t = struct cudnnRNNDataStruct*;
using cudnnRNNDescriptor_t = struct cudnnRNNStruct*;
using cudnnReduceTensorDescriptor_t = struct cudnnReduceTensorStruct*;
enum cudnnDeterminism_t : int {};
enum cudnnMathType_t : int { CUDNN_FMA_MATH = 3 };
struct cudnnConvolutionFwdAlgoPerf_t {
  cudnnConvolutionFwdAlgo_t algo;
  cudnnStatus_t status;
  float time;
  std::size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};
enum cudnnForwardMode_t : int { CUDNN_FWD_MODE_TRAINING = 1 };
enum cudnnDataType_t : int { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2 };
enum cudnnWgradMode_t : int { CUDNN_WGRAD_MODE_ADD = 0 };
enum cudnnActivationMode_t : int {
  CUDNN_ACTIVATION_SIGMOID = 0,
  CUDNN_ACTIVATION_RELU = 1,
  CUDNN_ACTIVATION_TANH = 2,
  CUDNN_ACTIVATION_ELU = 4,
  CUDNN_ACTIVATION_SWISH = 6
};
enum cudnnNanPropagation_t : int { CUDNN_NOT_PROPAGATE_NAN = 0 };
enum cudnnConvolutionMode_t : int { CUDNN_CROSS_CORRELATION = 1 };
enum cudnnTensorFormat_t : int { CUDNN_TENSOR_NCHW = 0 };
enum cudnnPoolingMode_t : int {
  CUDNN_POOLING_MAX = 0,
  CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1
};
enum cudnnRNNDataLayout_t : int {
  CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = 0
};
enum cudnnRNNAlgo_t : int { CUDNN_RNN_ALGO_STANDARD = 0 };
enum cudnnRNNMode_t : int { CUDNN_LSTM = 2 };
enum cudnnRNNBiasMode_t : int { CUDNN_RNN_DOUBLE_BIAS = 2 };
enum cudnnDirectionMode_t : int { CUDNN_UNIDIRECTIONAL = 0 };
enum cudnnRNNInputMode_t : int { CUDNN_LINEAR_INPUT = 0 };
enum cudnnReduceTensorOp_t : int {
  CUDNN_REDUCE_TENSOR_ADD = 0,
  CUDNN_REDUCE_TENSOR_MAX = 3,
  CUDNN_REDUCE_TENSOR_NORM2 = 7
};
enum cudnnReduceTensorIndices_t : int { CUDNN_REDUCE_TENSOR_NO_INDICES = 0 };
enum cudnnIndicesType_t : int { CUDNN_32BIT_INDICES = 0 };
enum cudnnSoftmaxAlgorithm_t : int { CUDNN_SOFTMAX_ACCURATE = 1 };
enum cudnnSoftmaxMode_t : int { CUDNN_SOFTMAX_MODE_CHANNEL = 1 };
enum cudnnBackendHeurMode_t : int { CUDNN_HEUR_MODE_INSTANT = 0 };
enum cudnnPointwiseMode_t : int {
  CUDNN_POINTWISE_ADD = 0,
  CUDNN_POINTWISE_DIV = 6,
  CUDNN_POINTWISE_MUL = 1,
  CUDNN_POINTWISE_SUB = 9,
  CUDNN_POINTWISE_EXP = 13,
  CUDNN_POINTWISE_RELU_FWD = 100
};

#define CUDNN_RNN_PADDED_IO_ENABLED (1U << 0)
extern "C" {
cudnnStatus_t cudnnActivationBackward(
    cudnnHandle_t, cudnnActivationDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t,
    const void*, const cudnnTensorDescriptor_t, const void*, const void*,
    const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnActivationForward(cudnnHandle_t, cudnnActivationDescriptor_t,
                                     const void*, const cudnnTensorDescriptor_t,
                                     const void*, const void*,
                                     const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void*,
                             const cudnnTensorDescriptor_t, const void*,
                             const void*, const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t,
                                           cudnnBackendDescriptor_t*);
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t,
                                  cudnnBackendDescriptor_t);
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t);
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t,
                                       cudnnBackendAttributeName_t,
                                       cudnnBackendAttributeType_t,
                                       std::int64_t, std::int64_t*, void*);
cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t,
                                            cudnnBackendDescriptor_t,
                                            cudnnBackendDescriptor_t,
                                            cudaGraph_t);
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t,
                                       cudnnBackendAttributeName_t,
                                       cudnnBackendAttributeType_t,
                                       std::int64_t, const void*);
cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t,
                                          cudnnBackendDescriptor_t,
                                          cudnnBackendDescriptor_t,
                                          cudaGraph_t);
cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t, cudnnBatchNormMode_t, const void*, const void*, const void*,
    const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t,
    void*, const cudnnTensorDescriptor_t, const void*, void*, void*, double,
    const void*, const void*);
cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t, cudnnBatchNormMode_t, const void*, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t,
    void*, const cudnnTensorDescriptor_t, const void*, const void*, const void*,
    const void*, double);
cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t, cudnnBatchNormMode_t, const void*, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t,
    void*, const cudnnTensorDescriptor_t, const void*, const void*, double,
    void*, void*, double, void*, void*);
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t, const void*,
                                           const cudnnTensorDescriptor_t,
                                           const void*, const void*,
                                           const cudnnTensorDescriptor_t,
                                           void*);
cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t, const void*, const cudnnFilterDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, cudnnConvolutionBwdDataAlgo_t, void*,
    std::size_t, const void*, const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, cudnnConvolutionBwdFilterAlgo_t, void*,
    std::size_t, const void*, const cudnnFilterDescriptor_t, void*);
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnFilterDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, cudnnConvolutionFwdAlgo_t, void*,
    std::size_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void*,
    const cudnnActivationDescriptor_t, const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnFilterDescriptor_t, const void*,
    const cudnnConvolutionDescriptor_t, cudnnConvolutionFwdAlgo_t, void*,
    std::size_t, const void*, const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnCreate(cudnnHandle_t*);
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t*);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t*);
cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t*);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t*);
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t*);
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t*);
cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t*);
cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t*);
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t*);
cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t,
                                            const cudnnTensorDescriptor_t,
                                            cudnnBatchNormMode_t);
cudnnStatus_t cudnnDestroy(cudnnHandle_t);
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t);
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t);
cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t,
                                   const cudnnDropoutDescriptor_t,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, void*, void*,
                                   std::size_t);
cudnnStatus_t cudnnDropoutForward(cudnnHandle_t, const cudnnDropoutDescriptor_t,
                                  const cudnnTensorDescriptor_t, const void*,
                                  const cudnnTensorDescriptor_t, void*, void*,
                                  std::size_t);
cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t,
                                              std::size_t*);
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t, std::size_t*);
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnFilterDescriptor_t, int*, int*, int*, int*);
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnFilterDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
    const int, int*, cudnnConvolutionFwdAlgoPerf_t*);
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnFilterDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
    cudnnConvolutionFwdAlgo_t, std::size_t*);
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t,
                                        cudnnForwardMode_t,
                                        cudnnRNNDataDescriptor_t, std::size_t*,
                                        std::size_t*);
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t,
                                      int32_t, std::size_t, const void*,
                                      int32_t, cudnnTensorDescriptor_t, void**,
                                      cudnnTensorDescriptor_t, void**);
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t,
                                         std::size_t*);
cudnnStatus_t cudnnGetReductionWorkspaceSize(
    cudnnHandle_t, const cudnnReduceTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, std::size_t*);
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t, int,
                                         cudnnDataType_t*, int*, int*, int*);
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t,
                                   const cudnnPoolingDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const void*, const cudnnTensorDescriptor_t,
                                   void*);
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, const cudnnPoolingDescriptor_t,
                                  const void*, const cudnnTensorDescriptor_t,
                                  const void*, const void*,
                                  const cudnnTensorDescriptor_t, void*);
cudnnStatus_t cudnnRNNBackwardData_v8(
    cudnnHandle_t, cudnnRNNDescriptor_t, const int32_t*,
    cudnnRNNDataDescriptor_t, const void*, const void*,
    cudnnRNNDataDescriptor_t, void*, cudnnTensorDescriptor_t, const void*,
    const void*, void*, cudnnTensorDescriptor_t, const void*, const void*,
    void*, std::size_t, const void*, std::size_t, void*, std::size_t, void*);
cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t, cudnnRNNDescriptor_t,
                                         cudnnWgradMode_t, const int32_t*,
                                         cudnnRNNDataDescriptor_t, const void*,
                                         cudnnTensorDescriptor_t, const void*,
                                         cudnnRNNDataDescriptor_t, const void*,
                                         std::size_t, void*, std::size_t, void*,
                                         std::size_t, void*);
cudnnStatus_t cudnnRNNForward(cudnnHandle_t, cudnnRNNDescriptor_t,
                              cudnnForwardMode_t, const int32_t*,
                              cudnnRNNDataDescriptor_t, const void*,
                              cudnnRNNDataDescriptor_t, void*,
                              cudnnTensorDescriptor_t, const void*, void*,
                              cudnnTensorDescriptor_t, const void*, void*,
                              std::size_t, const void*, std::size_t, void*,
                              std::size_t, void*);
cudnnStatus_t cudnnReduceTensor(cudnnHandle_t,
                                const cudnnReduceTensorDescriptor_t, void*,
                                std::size_t, void*, std::size_t, const void*,
                                const cudnnTensorDescriptor_t, const void*,
                                const void*, const cudnnTensorDescriptor_t,
                                void*);
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t,
                                           cudnnActivationMode_t,
                                           cudnnNanPropagation_t, double);
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t, int,
                                              int, int, int, int, int,
                                              cudnnConvolutionMode_t,
                                              cudnnDataType_t);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t, int);
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t,
                                        float, void*, std::size_t,
                                        unsigned long long);
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t,
                                         cudnnDataType_t, cudnnTensorFormat_t,
                                         int, int, int, int);
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t,
                                          cudnnPoolingMode_t,
                                          cudnnNanPropagation_t, int, int, int,
                                          int, int, int);
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t,
                                        cudnnDataType_t, cudnnRNNDataLayout_t,
                                        int, int, int, const int*, void*);
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t, cudnnRNNAlgo_t,
                                       cudnnRNNMode_t, cudnnRNNBiasMode_t,
                                       cudnnDirectionMode_t,
                                       cudnnRNNInputMode_t, cudnnDataType_t,
                                       cudnnDataType_t, cudnnMathType_t,
                                       int32_t, int32_t, int32_t, int32_t,
                                       cudnnDropoutDescriptor_t, uint32_t);
cudnnStatus_t cudnnSetReduceTensorDescriptor(
    cudnnReduceTensorDescriptor_t, cudnnReduceTensorOp_t, cudnnDataType_t,
    cudnnNanPropagation_t, cudnnReduceTensorIndices_t, cudnnIndicesType_t);
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t);
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t,
                                         cudnnTensorFormat_t, cudnnDataType_t,
                                         int, int, int, int);
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t,
                                         cudnnDataType_t, int, const int*,
                                         const int*);
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t,
                                   cudnnSoftmaxMode_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const cudnnTensorDescriptor_t, const void*,
                                   const void*, const cudnnTensorDescriptor_t,
                                   void*);
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t,
                                  cudnnSoftmaxMode_t, const void*,
                                  const cudnnTensorDescriptor_t, const void*,
                                  const void*, const cudnnTensorDescriptor_t,
                                  void*);
}

#endif  // CERBERUS_TESTS_E2E_LIBRARIES_DECLARATIONS_CUDNN_H_
