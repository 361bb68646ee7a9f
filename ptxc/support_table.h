// docs/ptx-support.md, made from the instruction table.
#ifndef CERBERUS_PTXC_SUPPORT_TABLE_H_
#define CERBERUS_PTXC_SUPPORT_TABLE_H_

#include <string>

namespace cerberus::ptx {

std::string SupportTable();

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_SUPPORT_TABLE_H_
