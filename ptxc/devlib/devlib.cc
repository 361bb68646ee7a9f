// The device library, compiled for AMD GPUs when Cerberus is built.
//
// Everything here is called by lowered code as __cerberus_dev_<name> and
// inlined into it. Of other folders only formats/ is included.
#include "async.h"
#include "bits.h"
#include "clusters.h"
#include "convert.h"
#include "device.h"
#include "launches.h"
#include "multimem.h"
#include "rounding.h"
#include "services.h"
#include "surface.h"
#include "sync.h"
#include "tensor.h"
#include "tensor_memory.h"
#include "tensor_product.h"
#include "texture.h"
#include "transcendental.h"
