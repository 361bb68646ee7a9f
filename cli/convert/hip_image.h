// The code objects of a HIP image, each with its target.
#ifndef CERBERUS_CLI_CONVERT_HIP_IMAGE_H_
#define CERBERUS_CLI_CONVERT_HIP_IMAGE_H_

#include <string>

#include "rewriter/rewriter.h"
#include "support/result.h"

namespace cerberus::cli {

// As rewriter::UnpackHipImage; of a code object by itself the target is what
// its metadata says. `file` is for messages.
Result<rewriter::CodeObjects> ReadHipImage(
    const rewriter::LocatedHipImage& image, const std::string& file);

// The image that is all of a file, and nothing but zeros behind it.
Result<rewriter::LocatedHipImage> HipImageOfFile(ByteSpan bytes,
                                                 const std::string& file);

// "compressed bundle, version 3, zstd", "bundle", "code object".
std::string DescribeHipImage(const images::HipImage& image);

}  // namespace cerberus::cli

#endif  // CERBERUS_CLI_CONVERT_HIP_IMAGE_H_
