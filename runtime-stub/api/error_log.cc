// cuLogs…: errors and warnings of the log, for the program that asks.
//
// CUDA keeps at most 25,600 bytes (CUDA Driver API, "Error Log Management");
// here that is the last 100 messages, each cut at 255 bytes, so that logging
// allocates nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime-stub/api/api.h"
#include "support/log.h"
#include "support/never_destroyed.h"

namespace cerberus::stub {
namespace {

constexpr unsigned kMessages = 100;
constexpr std::size_t kMessageBytes = 256;
constexpr std::size_t kMostCallbacks = 16;
constexpr const char kLost[] = "(older messages are lost)\n";
constexpr const char kLeftOut[] = "(older messages do not fit)\n";

struct Callback {
  CUlogsCallback function;
  void* data;
};

std::mutex g_mutex;  // guards all of these
char g_messages[kMessages][kMessageBytes];
unsigned g_next = 0;  // the number of the next message, which wraps at 2^32
unsigned g_kept = 0;
NeverDestroyed<std::vector<std::unique_ptr<Callback>>> g_all_callbacks;
auto& g_callbacks = *g_all_callbacks;

void Keep(LogLevel level, const char* text, std::size_t size) {
  char message[kMessageBytes];
  size = std::min(size, sizeof message - 1);
  std::memcpy(message, text, size);
  message[size] = '\0';
  Callback callbacks[kMostCallbacks];
  std::size_t count = 0;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::memcpy(g_messages[g_next % kMessages], message, size + 1);
    ++g_next;
    g_kept = std::min(g_kept + 1, kMessages);
    for (const auto& callback : g_callbacks) callbacks[count++] = *callback;
  }
  // They may call the driver.
  for (std::size_t i = 0; i < count; ++i) {
    callbacks[i].function(callbacks[i].data, static_cast<int>(level), message,
                          size);
  }
}
[[gnu::constructor]] void Install() { SetLogSink(Keep); }

// Messages from the iterator's on, or all; the newest of them that fit into
// `room` bytes, none if there are some and none fits. The iterator is moved to
// the end.
std::optional<std::string> Collect(CUlogIterator* iterator, std::size_t room) {
  std::lock_guard<std::mutex> lock(g_mutex);
  unsigned wanted = iterator != nullptr ? g_next - *iterator : g_kept;
  std::string head;
  if (wanted > g_kept) {
    wanted = g_kept;
    head = kLost;
  }
  std::string text;
  for (unsigned i = 1; i <= wanted; ++i) {
    const char* message = g_messages[(g_next - i) % kMessages];
    const std::size_t size = std::strlen(message) + 1;
    const bool all = i == wanted && head.empty();
    if (text.size() + size + (all ? 0 : sizeof kLeftOut - 1) > room) {
      if (text.empty()) return std::nullopt;
      head = kLeftOut;
      break;
    }
    text.insert(0, std::string(message) + "\n");
  }
  if (iterator != nullptr) *iterator = g_next;
  return head + text;
}

}  // namespace

namespace api {

CUresult cuLogsRegisterCallback(CUlogsCallback function, void* data,
                                CUlogsCallbackHandle* out) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto callback = std::make_unique<Callback>(Callback{function, data});
  std::lock_guard<std::mutex> lock(g_mutex);
  if (g_callbacks.size() == kMostCallbacks) return CUDA_ERROR_OUT_OF_MEMORY;
  g_callbacks.push_back(std::move(callback));
  if (out != nullptr) {
    *out = reinterpret_cast<CUlogsCallbackHandle>(g_callbacks.back().get());
  }
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto at = std::find_if(
      g_callbacks.begin(), g_callbacks.end(),
      [handle](const std::unique_ptr<Callback>& callback) {
        return reinterpret_cast<CUlogsCallbackHandle>(callback.get()) == handle;
      });
  if (at == g_callbacks.end()) return CUDA_ERROR_INVALID_VALUE;
  g_callbacks.erase(at);
  return CUDA_SUCCESS;
}

CUresult cuLogsCurrent(CUlogIterator* out, unsigned flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(g_mutex);
  *out = g_next;
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator* iterator, const char* path,
                          unsigned flags) {
  if (path == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::string text = *Collect(iterator, SIZE_MAX);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written ? CUDA_SUCCESS
                                           : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer,
                            std::size_t* size, unsigned flags) {
  if (buffer == nullptr || size == nullptr || *size == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::optional<std::string> text = Collect(iterator, *size - 1);
  *size = text ? text->size() : 0;
  std::memcpy(buffer, text ? text->c_str() : "", *size + 1);
  return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace api
}  // namespace cerberus::stub
