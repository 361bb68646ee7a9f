// Execution plans as text (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION): a
// JSON array of the descriptors that a plan is made of, each with its
// attributes, so that reading it sets and finalizes them as a program would.
//
//   plan       := ["cerberus-cudnn-plan", 1, descriptor]
//   descriptor := [kind, [attribute, …]]
//   attribute  := [name, type, count, "bytes in hexadecimal"]
//               | [name, type, [descriptor, …]]
#ifndef CERBERUS_LIBRARIES_CUDNN_PLAN_TEXT_H_
#define CERBERUS_LIBRARIES_CUDNN_PLAN_TEXT_H_

#include <string>
#include <string_view>

#include "libraries/cudnn/descriptor.h"

namespace cerberus::libraries::cudnn {

// Of a finalized plan. Handles are left out.
std::string PlanText(const Descriptor& plan);

// The plan that a text is of, finalized. kBadParam for another text, and what
// its descriptors answer to their attributes.
Status ReadPlan(std::string_view text, Descriptor* plan);

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_PLAN_TEXT_H_
