// The loss of connectionist temporal classification.
#include <cmath>

#include "libraries/cudnn/attention.h"
#include "libraries/cudnn/ctc.h"
#include "libraries/cudnn/legacy.h"

namespace cerberus::libraries::cudnn {

struct CtcDescriptor {
  DataType compute = kFloat;
  int normalization = 0;  // 1: by softmax, here
  int gradient_mode = 0;
  int longest = 0;
};

namespace {

Status SetCtc(CtcDescriptor* desc, DataType compute, int normalization,
              int gradient_mode, int longest) {
  if (desc == nullptr || compute != kFloat || normalization < 0 ||
      normalization > 1 || gradient_mode < 0 || gradient_mode > 1 ||
      longest < 0) {
    return kBadParam;
  }
  *desc = {compute, normalization, gradient_mode, longest};
  return kSuccess;
}
Status GetCtc(const CtcDescriptor* desc, DataType* compute, int* normalization,
              int* gradient_mode, int* longest) {
  if (desc == nullptr) return kBadParam;
  Put(compute, desc->compute), Put(normalization, desc->normalization);
  Put(gradient_mode, desc->gradient_mode), Put(longest, desc->longest);
  return kSuccess;
}

// T, N, A of probabilities or activations.
bool AreSequences(const TensorDescriptor* desc) {
  return IsSet(desc) && desc->tensor.sizes.size() == 3 &&
         desc->tensor.type == kFloat;
}

struct Lengths {
  const int* labels;
  const int* label_lengths;
  const int* input_lengths;
};

// All sequences of a batch.
void Losses(const CtcDescriptor& desc, Array x, const Lengths& lengths,
            Array* costs, Array* slopes) {
  const Index times = x.sizes[0], batches = x.sizes[1], letters = x.sizes[2];
  if (desc.normalization == 1) {
    Softmax(/*logarithm=*/true, letters, 1, &x);
  } else {
    for (double& value : x.values) value = std::log(value);
  }
  const int* label = lengths.labels;
  for (Index n = 0; n < batches; ++n) {
    const Index used = std::clamp<Index>(lengths.input_lengths[n], 0, times);
    std::vector<Index> labels;
    bool fits = lengths.input_lengths[n] <= times;
    for (int i = 0; i < lengths.label_lengths[n]; ++i) {
      labels.push_back(*label++);
      fits &= labels.back() > 0 && labels.back() < letters;
    }
    std::vector<double> one(static_cast<std::size_t>(used * letters));
    std::vector<double> slope(one.size(), 0);
    for (Index i = 0; i < used * letters; ++i) {
      one[static_cast<std::size_t>(i)] =
          x[(i / letters * batches + n) * letters + i % letters];
    }
    double loss = std::numeric_limits<double>::infinity();
    if (fits) {
      loss = CtcLoss(one.data(), used, letters, labels,
                     slopes != nullptr ? slope.data() : nullptr);
    }
    (*costs)[n] = loss;
    if (slopes == nullptr) continue;
    const bool impossible = !std::isfinite(loss);
    for (Index t = 0; t < times; ++t) {
      for (Index a = 0; a < letters; ++a) {
        double& to = (*slopes)[(t * batches + n) * letters + a];
        if (impossible && desc.gradient_mode == 1) continue;  // left alone
        to = t < used && !impossible
                 ? slope[static_cast<std::size_t>(t * letters + a)]
                 : 0;
      }
    }
  }
}

Status RunLoss(Handle handle, const CtcDescriptor* desc,
               const TensorDescriptor* x_desc, const void* x, void* costs,
               const TensorDescriptor* slope_desc, void* slopes,
               const std::function<Lengths(Call&)>& map) {
  if (!desc || !AreSequences(x_desc) || !x || !costs ||
      (slopes != nullptr &&
       (!AreSequences(slope_desc) ||
        slope_desc->tensor.sizes != x_desc->tensor.sizes))) {
    return kBadParam;
  }
  const Index batches = x_desc->tensor.sizes[1];
  Call call(handle);
  const Lengths lengths = map(call);
  const Input in = Read(call, x_desc->tensor, x);
  const Output out = Write(call, {kFloat, {batches}, {1}}, costs);
  const Output slope =
      slopes != nullptr ? Write(call, slope_desc->tensor, slopes) : Output();
  return call.Run([=, ctc = *desc] {
    Array losses({batches});
    Array result;
    if (slope) result = slope.tensor.Read(slope.memory);
    Losses(ctc, in.Read(), lengths, &losses, slope ? &result : nullptr);
    out.Store(std::move(losses));
    slope.Store(std::move(result));
  });
}

// The sum of numbers of the device, which the call waits for.
bool SumOf(const Context& context, const int* numbers, std::size_t count,
           std::size_t* sum) {
  std::vector<int> copy(count);
  const Driver& driver = *context.driver;
  if (driver.copy(reinterpret_cast<std::uint64_t>(copy.data()),
                  reinterpret_cast<std::uint64_t>(numbers), count * 4,
                  context.stream) != 0 ||
      driver.synchronize(context.stream) != 0) {
    return false;
  }
  for (const int number : copy) {
    *sum += static_cast<std::size_t>(std::max(0, number));
  }
  return true;
}

Status NoWorkspace(const CtcDescriptor* desc, const TensorDescriptor* x,
                   std::size_t* bytes) {
  if (!desc || !AreSequences(x) || !bytes) return kBadParam;
  *bytes = 0;
  return kSuccess;
}

}  // namespace

CUDNN_API Told cudnnCreateCTCLossDescriptor(CtcDescriptor** desc) {
  return Create(desc);
}
CUDNN_API Told cudnnDestroyCTCLossDescriptor(CtcDescriptor* desc) {
  return Destroy(desc);
}
CUDNN_API Told cudnnSetCTCLossDescriptor(CtcDescriptor* desc,
                                         DataType compute) {
  return Tell([&] { return SetCtc(desc, compute, 0, 0, 0); });
}
CUDNN_API Told cudnnSetCTCLossDescriptorEx(CtcDescriptor* desc,
                                           DataType compute, int normalization,
                                           int gradient_mode) {
  return Tell(
      [&] { return SetCtc(desc, compute, normalization, gradient_mode, 0); });
}
CUDNN_API Told cudnnSetCTCLossDescriptor_v8(CtcDescriptor* desc,
                                            DataType compute, int normalization,
                                            int gradient_mode, int longest) {
  return Tell([&] {
    return SetCtc(desc, compute, normalization, gradient_mode, longest);
  });
}
CUDNN_API Told cudnnSetCTCLossDescriptor_v9(CtcDescriptor* desc,
                                            DataType compute, int normalization,
                                            int gradient_mode, int longest) {
  return Tell([&] {
    return SetCtc(desc, compute, normalization, gradient_mode, longest);
  });
}
CUDNN_API Told cudnnGetCTCLossDescriptor(const CtcDescriptor* desc,
                                         DataType* compute) {
  return Tell([&] { return GetCtc(desc, compute, nullptr, nullptr, nullptr); });
}
CUDNN_API Told cudnnGetCTCLossDescriptorEx(const CtcDescriptor* desc,
                                           DataType* compute,
                                           int* normalization,
                                           int* gradient_mode) {
  return Tell([&] {
    return GetCtc(desc, compute, normalization, gradient_mode, nullptr);
  });
}
CUDNN_API Told cudnnGetCTCLossDescriptor_v8(const CtcDescriptor* desc,
                                            DataType* compute,
                                            int* normalization,
                                            int* gradient_mode, int* longest) {
  return Tell([&] {
    return GetCtc(desc, compute, normalization, gradient_mode, longest);
  });
}
CUDNN_API Told cudnnGetCTCLossDescriptor_v9(const CtcDescriptor* desc,
                                            DataType* compute,
                                            int* normalization,
                                            int* gradient_mode, int* longest) {
  return Tell([&] {
    return GetCtc(desc, compute, normalization, gradient_mode, longest);
  });
}
CUDNN_API Told cudnnGetCTCLossWorkspaceSize(Handle handle,
                                            const TensorDescriptor* x,
                                            const TensorDescriptor*, const int*,
                                            const int*, const int*, int,
                                            const CtcDescriptor* desc,
                                            std::size_t* bytes) {
  return Tell(handle, [&] { return NoWorkspace(desc, x, bytes); });
}
CUDNN_API Told cudnnGetCTCLossWorkspaceSize_v8(Handle handle, int,
                                               const CtcDescriptor* desc,
                                               const TensorDescriptor* x,
                                               const TensorDescriptor*,
                                               std::size_t* bytes) {
  return Tell(handle, [&] { return NoWorkspace(desc, x, bytes); });
}
// Labels and lengths are the host's: read now.
CUDNN_API Told cudnnCTCLoss(Handle handle, const TensorDescriptor* x_desc,
                            const void* x, const int* labels,
                            const int* label_lengths, const int* input_lengths,
                            void* costs, const TensorDescriptor* slope_desc,
                            void* slopes, int, const CtcDescriptor* desc, void*,
                            std::size_t) {
  return Tell(handle, [&] {
    if (!AreSequences(x_desc) || !labels || !label_lengths || !input_lengths) {
      return kBadParam;
    }
    const Index batches = x_desc->tensor.sizes[1];
    const auto numbers = std::make_shared<std::vector<int>>();
    numbers->assign(label_lengths, label_lengths + batches);
    numbers->insert(numbers->end(), input_lengths, input_lengths + batches);
    Index total = 0;
    for (Index n = 0; n < batches; ++n) {
      if (label_lengths[n] < 0) return kBadParam;
      total += label_lengths[n];
    }
    numbers->insert(numbers->end(), labels, labels + total);
    const int* first = numbers->data();
    return RunLoss(handle, desc, x_desc, x, costs, slope_desc, slopes,
                   [&, first](Call& call) {
                     call.Keep(numbers);
                     return Lengths{first + 2 * batches, first,
                                    first + batches};
                   });
  });
}
// Labels and lengths are the device's.
CUDNN_API Told cudnnCTCLoss_v8(Handle handle, int, const CtcDescriptor* desc,
                               const TensorDescriptor* x_desc, const void* x,
                               const int* labels, const int* label_lengths,
                               const int* input_lengths, void* costs,
                               const TensorDescriptor* slope_desc, void* slopes,
                               std::size_t, void*) {
  return Tell(handle, [&] {
    if (!desc || !AreSequences(x_desc) || !labels || !label_lengths ||
        !input_lengths) {
      return kBadParam;
    }
    const auto batches = static_cast<std::size_t>(x_desc->tensor.sizes[1]);
    // How many labels there are is known when the stream comes there; to copy
    // them it has to be known now.
    std::size_t total = 0;
    if (!handle->driver->shares_memory &&
        !SumOf(*handle, label_lengths, batches, &total)) {
      return Failed(kNotSupported, "labels of a GPU in a graph");
    }
    return RunLoss(handle, desc, x_desc, x, costs, slope_desc, slopes,
                   [&](Call& call) {
                     return Lengths{call.work().In(labels, total * 4),
                                    call.work().In(label_lengths, batches * 4),
                                    call.work().In(input_lengths, batches * 4)};
                   });
  });
}

}  // namespace cerberus::libraries::cudnn
