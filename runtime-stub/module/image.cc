#include "runtime-stub/module/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "formats/code_object.h"
#include "formats/fatbin.h"
#include "formats/launch_abi.h"
#include "hip/find_emulator.h"
#include "images/fatbin.h"
#include "images/ptx_cubin.h"
#include "images/ptx_text.h"
#include "kpack/content_key.h"
#include "kpack/marker.h"
#include "kpack/resolve.h"
#include "runtime-stub/device/provider.h"
#include "runtime-stub/launch/device_runtime.h"
#include "runtime-stub/module/jit_fallback.h"
#include "runtime-stub/module/kernels_alone.h"
#include "support/log.h"
#include "support/targets/target_table.h"

namespace cerberus::stub {
namespace {

bool EnvironmentSaysYes(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

// Archives stay open for the life of the process.
kpack::Resolver& Archives() {
  static kpack::Resolver& resolver = *new kpack::Resolver;
  return resolver;
}

// The fatbin's bytes, by its header; a container in memory has no other end.
ByteSpan FatbinBytes(const void* start) {
  struct Header {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_size;
    std::uint64_t body_size;
  } header;
  static_assert(sizeof header == sizeof(formats::FatbinHeader));
  std::memcpy(&header, start, sizeof header);
  const auto size = CheckedAdd(header.header_size, header.body_size);
  if (!size) return {};
  return {static_cast<const std::uint8_t*>(start), *size};
}

std::uint32_t MagicAt(const void* at) {
  std::uint32_t magic;
  std::memcpy(&magic, at, sizeof magic);
  return magic;
}

// "app: fatbin at +0x1e000", or by address where no file holds it.
std::string PlaceOf(const char* what, const void* address) {
  Dl_info object;
  if (dladdr(address, &object) == 0 || object.dli_fname == nullptr) {
    return fmt::format("{} at {}", what, address);
  }
  const char* slash = std::strrchr(object.dli_fname, '/');
  return fmt::format("{}: {} at +0x{:x}",
                     slash != nullptr ? slash + 1 : object.dli_fname, what,
                     reinterpret_cast<std::uintptr_t>(address) -
                         reinterpret_cast<std::uintptr_t>(object.dli_fbase));
}

// "kernel 'scan'", " and 3 more"; "no kernel".
std::string NameKernelsOf(const void* cubin) {
  const Result<std::uint64_t> size = ElfSize(cubin);
  if (!size) return "no kernel";
  images::FatbinEntry entry{};
  entry.kind = images::EntryKind::kCubin;
  entry.payload = {static_cast<const std::uint8_t*>(cubin), *size};
  entry.stored_size = entry.unpacked_size = *size;
  const Result<std::vector<std::string>> names = images::KernelNames(entry);
  if (!names || names->empty()) return "no kernel";
  return fmt::format(
      "kernel '{}'{}", names->front(),
      names->size() == 1 ? "" : fmt::format(" and {} more", names->size() - 1));
}

// PTX begins with .version, behind comments and blanks at most.
bool LooksLikePtx(const char* text) {
  constexpr std::string_view kDirective = ".version";
  const char* p = text;
  for (;;) {
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') ++p;
    if (p[0] == '/' && p[1] == '/') {
      while (*p != '\0' && *p != '\n') ++p;
    } else if (p[0] == '/' && p[1] == '*') {
      const char* end = std::strstr(p + 2, "*/");
      if (end == nullptr) return false;
      p = end + 2;
    } else {
      return std::strncmp(p, kDirective.data(), kDirective.size()) == 0;
    }
  }
}

CUresult IdentifyWrapper(const formats::FatbinWrapper* wrapper, Image* image) {
  image->stays_mapped = true;
  image->record = FindRecord(wrapper);
  if (image->record) {
    const std::string& file = image->record->segment.file;
    image->name = fmt::format("{}: module {}", file.substr(file.rfind('/') + 1),
                              image->record->index);
    if (!image->record->fatbin.empty()) {
      image->fatbins.push_back(image->record->fatbin.data());
    }
    return CUDA_SUCCESS;
  }
  image->name = PlaceOf("fatbin", wrapper->data);
  if (wrapper->data == nullptr ||
      MagicAt(wrapper->data) != formats::kFatbinMagic) {
    Log(LogLevel::kError,
        "a wrapper leads neither to a fatbin nor to the record of a "
        "conversion");
    return CUDA_ERROR_INVALID_IMAGE;
  }
  image->fatbins.push_back(wrapper->data);
  // The linked image of an -rdc program holds no PTX; `last` leads to a list
  // of the translation units' fatbins.
  if (wrapper->version == 2 && wrapper->last != nullptr) {
    const void* const* unit = static_cast<const void* const*>(wrapper->last);
    for (; *unit != nullptr; ++unit) {
      if (MagicAt(*unit) == formats::kFatbinMagic)
        image->fatbins.push_back(*unit);
    }
  }
  return CUDA_SUCCESS;
}

CUresult IdentifyElf(const void* code, Image* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, code, sizeof header);
  if (header.e_machine == formats::kElfMachineCuda) {
    Result<std::uint64_t> size = ElfSize(code);
    const std::string_view ptx =
        size ? images::PtxOfCubin(
                   {static_cast<const std::uint8_t*>(code), *size})
             : std::string_view();
    if (!ptx.empty()) {
      image->name = "PTX in a cubin";
      image->ptx = ptx;
      return CUDA_SUCCESS;
    }
    image->name = PlaceOf("cubin", code);
    SayMissing(image->name,
               fmt::format("{}: a cubin (NVIDIA machine code) with {} was "
                           "handed to the driver: only PTX and AMD code "
                           "objects can run here",
                           image->name, NameKernelsOf(code)));
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (header.e_machine != formats::kElfMachineAmdGpu)
    return CUDA_ERROR_INVALID_IMAGE;
  Result<std::uint64_t> size = ElfSize(code);
  if (!size) return CUDA_ERROR_INVALID_IMAGE;
  const auto* bytes = static_cast<const std::uint8_t*>(code);
  image->name = "AMD code object";
  image->hsaco.assign(bytes, bytes + *size);
  return CUDA_SUCCESS;
}

// --- looking for prebuilt code ---

bool HasOurAbi(const kpack::Archive& archive, const kpack::Entry& entry) {
  const auto abi = entry.metadata.Find("cerberus_abi").AsInt();
  if (abi == std::int64_t{formats::kLaunchAbi}) return true;
  Log(LogLevel::kWarning,
      "%s: launch ABI %lld of %.*s is not %d, the code is not used",
      archive.path().c_str(), static_cast<long long>(abi.value_or(0)),
      static_cast<int>(entry.key.size()), entry.key.data(),
      formats::kLaunchAbi);
  return false;
}

bool TakeCode(Bytes bytes, const std::string& from, const Image& image,
              const std::string& target, Code* code) {
  Result<CodeObjectInfo> info = ReadCodeObject(bytes);
  if (!info) {
    Log(LogLevel::kWarning, "%s: %s", from.c_str(),
        info.error().ToString().c_str());
    return false;
  }
  if (info->abi && *info->abi != formats::kLaunchAbi) {
    Log(LogLevel::kWarning, "%s: launch ABI %u is not %d, the code is not used",
        from.c_str(), *info->abi, formats::kLaunchAbi);
    return false;
  }
  code->bytes = std::move(bytes);
  code->info = *std::move(info);
  Log(LogLevel::kInfo, "loaded %s for %s from %s", image.name.c_str(),
      target.c_str(), from.c_str());
  return true;
}

bool IsDamage(kpack::KpackCode code) {
  return code == kpack::KpackCode::kInvalidFormat ||
         code == kpack::KpackCode::kDecompressionFailed ||
         code == kpack::KpackCode::kIoError;
}

// One search: a marker's archives, one key.
bool LoadFromArchives(const Segment& segment, const std::string& key,
                      const Image& image, const Device& device, Code* code) {
  Result<kpack::Marker> marker = kpack::DecodeMarker(segment.marker);
  if (!marker) {
    Log(LogLevel::kWarning, "%s: %s", segment.file.c_str(),
        marker.error().ToString().c_str());
    return false;
  }
  kpack::Resolver::Request request;
  request.search_paths = marker->search_paths;
  request.binary_path = segment.file;
  request.key = key;
  request.arches = device.target.LoadOrder();
  request.accept = HasOurAbi;
  auto found = Archives().Load(request);
  if (!found) {
    // Code that is there and cannot be read is worth more than a note.
    for (const std::string& note : found.error().notes)
      Log(LogLevel::kWarning, "%s", note.c_str());
    const bool damaged = IsDamage(found.error().kpack_code);
    Log(damaged ? LogLevel::kWarning : LogLevel::kInfo,
        "%s: no prebuilt code for %s: %s", image.name.c_str(),
        device.target.ToString().c_str(), found.error().ToString().c_str());
    return false;
  }
  return TakeCode(std::move(found->bytes), "archive " + found->archive->path(),
                  image, std::string(found->entry->arch), code);
}

// The target to emulate was chosen by the files that were there at the first
// call. Of one that has code, but not for that target, it is said which choice
// would have been better.
void SayOtherTarget(const Segment& segment, const kpack::Marker& marker,
                    const Device& device) {
  if (ChosenProvider() != Provider::kEmulator || EmulatorTargetsAreGiven()) {
    return;
  }
  const std::string better = TargetToEmulate(
      {Archives().CountEntries(marker.search_paths, segment.file)});
  if (better.empty()) return;
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!said.insert(segment.file).second) return;
  }
  LogNotice(
      "%s holds code for %s, but %s is emulated, chosen by what was loaded at "
      "the first call; CERBERUS_DEVICE=%s has this code run",
      segment.file.c_str(), better.c_str(), device.target.ToString().c_str(),
      better.c_str());
}

bool LoadByRecord(const Image& image, const Device& device, Code* code) {
  const Segment& segment = image.record->segment;
  Result<kpack::Marker> marker = kpack::DecodeMarker(segment.marker);
  if (!marker) {
    Log(LogLevel::kWarning, "%s: %s", segment.file.c_str(),
        marker.error().ToString().c_str());
    return false;
  }
  if (LoadFromArchives(
          segment, kpack::ModuleKey(marker->kernel_name, image.record->index),
          image, device, code)) {
    return true;
  }
  SayOtherTarget(segment, *marker, device);
  return false;
}

// Text of a fatbin has the key of all of it, what stands in a program as text
// that of the module in it, which is not looked for where the first is found.
bool LoadByContent(std::string_view ptx, const Image& image,
                   const Device& device, Code* code) {
  const std::vector<Segment> segments = AllSegments();
  if (segments.empty()) return false;
  const auto load = [&](std::string_view text) {
    const std::string key = kpack::ContentKey(text) + "#";
    return std::ranges::any_of(segments, [&](const Segment& segment) {
      return LoadFromArchives(segment, key, image, device, code);
    });
  };
  if (load(ptx)) return true;
  const std::string_view module = images::OnlyModule(ptx);
  return !module.empty() && module.size() != ptx.size() && load(module);
}

// --- PTX for the fallback ---

// The text that the converter put aside for this module.
std::optional<std::string> PtxFromArchive(const Image& image) {
  const Segment& segment = image.record->segment;
  Result<kpack::Marker> marker = kpack::DecodeMarker(segment.marker);
  if (!marker) return std::nullopt;
  kpack::Resolver::Request request;
  request.search_paths = marker->search_paths;
  request.binary_path = segment.file;
  request.key = kpack::ModuleKey(marker->kernel_name, image.record->index);
  request.arches = {"ptx"};
  auto found = Archives().Load(request);
  if (!found) return std::nullopt;
  Log(LogLevel::kDebug, "%s: PTX from %s", image.name.c_str(),
      found->archive->path().c_str());
  return std::string(AsText(found->bytes));
}

// The PTX entries of a fatbin, most wanted first: those tied to the capability
// that the device is presented as, or to its family; the newest for it, then
// older ones; entries tied to other chips or families only where nothing else
// is; newer ones last.
std::vector<images::FatbinEntry> PtxByPreference(
    const std::vector<images::FatbinEntry>& entries, std::uint32_t sm) {
  std::vector<images::FatbinEntry> out = images::EntriesWithPtx(entries);
  const auto rank = [sm](const images::FatbinEntry& entry) {
    const bool newer = entry.sm > sm;
    const bool family = entry.family_specific();
    const bool alone = entry.arch_specific() && !family;
    const bool ours =
        alone ? entry.sm == sm : family && !newer && entry.sm / 10 == sm / 10;
    const std::uint32_t distance = newer ? entry.sm - sm : sm - entry.sm;
    return (newer ? 1u << 20 : 0u) +
           ((alone || family) && !ours ? 1u << 16 : 0u) + 4 * distance +
           (!ours    ? 2
            : family ? 1
                     : 0);
  };
  std::sort(out.begin(), out.end(),
            [&](const images::FatbinEntry& a, const images::FatbinEntry& b) {
              return rank(a) != rank(b) ? rank(a) < rank(b)
                                        : a.offset < b.offset;
            });
  return out;
}

// Texts to try in turn: those of a fatbin, or, where several fatbins hold PTX
// (nvcc -rdc=true), the best of each behind one another, to be linked.
CUresult PtxCandidates(const Image& image, const Device& device,
                       std::vector<std::string>* texts) {
  if (!image.ptx.empty()) texts->push_back(image.ptx);
  if (image.record) {
    if (std::optional<std::string> ptx = PtxFromArchive(image)) {
      texts->push_back(*std::move(ptx));
      return CUDA_SUCCESS;
    }
  }
  std::string linked;
  int members = 0;
  for (const void* start : image.fatbins) {
    Result<images::Fatbin> fatbin = images::ParseFatbin(FatbinBytes(start));
    if (!fatbin) {
      Log(LogLevel::kError, "%s: %s", image.name.c_str(),
          fatbin.error().ToString().c_str());
      return CUDA_ERROR_INVALID_IMAGE;
    }
    if (images::IsDeviceRuntime(fatbin->entries)) continue;
    const std::vector<images::FatbinEntry> entries = PtxByPreference(
        fatbin->entries, static_cast<std::uint32_t>(device.cc.sm()));
    if (entries.empty()) continue;
    if (entries.front().sm > static_cast<std::uint32_t>(device.cc.sm())) {
      // Most of it compiles.
      Log(LogLevel::kInfo, "%s: has only PTX newer than sm_%d (%s)",
          image.name.c_str(), device.cc.sm(),
          entries.front().ArchName().c_str());
    }
    for (const images::FatbinEntry& entry : entries) {
      Result<std::string> ptx = images::UnpackPtx(entry);
      if (!ptx) {
        Log(LogLevel::kWarning, "%s: %s", image.name.c_str(),
            ptx.error().ToString().c_str());
        continue;
      }
      if (&entry == &entries.front()) {
        if (++members > 1) linked += '\n';
        linked += *ptx;
      }
      texts->push_back(*std::move(ptx));
    }
  }
  if (members > 1) *texts = {std::move(linked)};
  return CUDA_SUCCESS;
}

// The image has neither code for the device nor PTX.
std::string WhyNothingFits(const Image& image, const Device& device) {
  std::vector<std::string> built_for;
  for (const void* start : image.fatbins) {
    const Result<images::Fatbin> fatbin =
        images::ParseFatbin(FatbinBytes(start));
    if (!fatbin) continue;
    for (const images::FatbinEntry& entry : fatbin->entries) {
      const std::string arch = entry.ArchName();
      if (std::find(built_for.begin(), built_for.end(), arch) ==
          built_for.end()) {
        built_for.push_back(arch);
      }
    }
  }
  if (!built_for.empty()) {
    return fmt::format(
        "it was built without PTX, for {} alone: nothing to convert",
        fmt::join(built_for, ", "));
  }
  if (!image.record) return "it is empty";
  if (image.record->no_ptx) {
    return "it was built without PTX: nothing to convert";
  }
  return fmt::format(
      "its archives hold neither code for that nor PTX. Convert "
      "{} again with --arch {}",
      image.record->segment.file, device.target.processor);
}

}  // namespace

void SayMissing(const std::string& name, const std::string& line) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  bool first = true;
  if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
    std::lock_guard<std::mutex> lock(mutex);
    first = said.insert(name.substr(0, colon)).second;
  }
  Log(first ? LogLevel::kError : LogLevel::kInfo, "%s", line.c_str());
}

CUresult IdentifyImage(const void* code, Image* image) {
  if (code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::uint32_t magic = MagicAt(code);
  if (magic == formats::kWrapperMagic) {
    return IdentifyWrapper(static_cast<const formats::FatbinWrapper*>(code),
                           image);
  }
  if (magic == formats::kFatbinMagic) {
    image->name = PlaceOf("fatbin", code);
    image->fatbins.push_back(code);
    return CUDA_SUCCESS;
  }
  if (std::memcmp(code, ELFMAG, SELFMAG) == 0) {
    return IdentifyElf(code, image);
  }
  const auto* text = static_cast<const char*>(code);
  if (LooksLikePtx(text)) {
    image->name = "PTX text";
    image->ptx = text;
    return CUDA_SUCCESS;
  }
  Log(LogLevel::kError,
      "an image is neither a fatbin, nor PTX, nor an AMD code object");
  return CUDA_ERROR_INVALID_IMAGE;
}

std::string TargetWithMostCode() {
  std::vector<CodeByTarget> files;
  for (const Segment& segment : AllSegments()) {
    const Result<kpack::Marker> marker = kpack::DecodeMarker(segment.marker);
    if (!marker) continue;
    files.push_back(
        Archives().CountEntries(marker->search_paths, segment.file));
  }
  return TargetToEmulate(files);
}

CUresult AppendPtxOf(ByteSpan data, const std::string& name,
                     const Device& device, std::string* ptx) {
  Image image;
  image.name = name;
  bool device_runtime = false;
  for (const images::Fatbin& fatbin : images::FindFatbins(data)) {
    if (images::IsDeviceRuntime(fatbin.entries)) {
      device_runtime = true;
    } else {
      image.fatbins.push_back(fatbin.bytes.data());
    }
  }
  std::vector<std::string> texts;
  if (CUresult r = PtxCandidates(image, device, &texts); r != CUDA_SUCCESS) {
    return r;
  }
  if (device_runtime) *ptx += kDeviceRuntimePtx;
  if (!texts.empty()) *ptx += texts.front();
  if (!device_runtime && texts.empty()) {
    Log(LogLevel::kError, "%s: holds no PTX to link", name.c_str());
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  return CUDA_SUCCESS;
}

CUresult FindCode(const Image& image, const Device& device, Code* code,
                  std::string* log, CodeSource source) {
  const std::string target = device.target.ToString();
  if (!image.hsaco.empty()) {
    Bytes copy = image.hsaco;
    return TakeCode(std::move(copy), "the program", image, target, code)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_IMAGE;
  }
  const bool apart = source == CodeSource::kApart;
  const bool force_jit = apart || source == CodeSource::kCompiled ||
                         EnvironmentSaysYes("CUDA_FORCE_PTX_JIT");
  if (image.record && image.record->no_kernel) {
    // An empty device link: nothing to load, and nothing missing.
    code->info = {};
    return CUDA_SUCCESS;
  }
  if (image.record && !force_jit && LoadByRecord(image, device, code)) {
    return CUDA_SUCCESS;
  }
  std::vector<std::string> texts;
  CUresult result = PtxCandidates(image, device, &texts);
  if (result != CUDA_SUCCESS) return result;
  if (texts.empty()) {
    code->why_none = WhyNothingFits(image, device);
    Log(LogLevel::kInfo, "%s: no code for %s: %s", image.name.c_str(),
        target.c_str(), code->why_none.c_str());
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (!image.record && !force_jit) {
    for (const std::string& ptx : texts) {
      if (LoadByContent(ptx, image, device, code)) return CUDA_SUCCESS;
    }
  }
  if (EnvironmentSaysYes("CUDA_DISABLE_PTX_JIT")) {
    Log(LogLevel::kError,
        "%s: no code for %s, and CUDA_DISABLE_PTX_JIT forbids compiling",
        image.name.c_str(), target.c_str());
    return CUDA_ERROR_JIT_COMPILATION_DISABLED;
  }
  JitRequest request = {
      .ptx = texts.front(),
      .target = device.target,
      .name = image.name,
      .from = image.ptx.empty() ? PtxFrom::kFile : PtxFrom::kProgram};
  if (source == CodeSource::kAsUsed && image.stays_mapped) {
    for (const bool kept_apart : {false, true}) {
      request.variables = kept_apart ? "apart" : "";
      std::optional<JitResult> kept = FindCompiled(request);
      if (kept &&
          TakeCode(std::move(kept->code), kept->from, image, target, code)) {
        code->variables_apart = kept_apart;
        return CUDA_SUCCESS;
      }
    }
    request.variables = "";
    code->to_compile = KernelsToCompileAsUsed(texts.front());
    if (!code->to_compile.empty()) return CUDA_SUCCESS;
  }
  // The variables' places are those of the first text.
  if (apart) {
    request.variables = "apart";
    code->variables_apart = true;
    texts.resize(1);
  }
  // Whole or not at all first: where a newer text cannot be compiled whole, an
  // older one may be. Last, what can be had of the first text.
  std::string messages;
  const auto compile = [&](const std::string& ptx, bool keep_going) {
    JitRequest wanted = request;
    wanted.ptx = ptx;
    wanted.keep_going = keep_going;
    JitResult compiled = CompilePtx(wanted);
    messages += compiled.log;
    if (compiled.status != CUDA_SUCCESS) return compiled.status;
    const bool taken =
        TakeCode(std::move(compiled.code), compiled.from, image, target, code);
    if (!taken || (code->info.kernels.empty() && !code->info.failed.empty())) {
      return CUDA_ERROR_INVALID_PTX;
    }
    return CUDA_SUCCESS;
  };
  for (const std::string& ptx : texts) {
    result = compile(ptx, false);
    if (result != CUDA_ERROR_INVALID_PTX) break;
  }
  if (result == CUDA_ERROR_INVALID_PTX) {
    const std::string refusal = messages.substr(0, messages.find('\n'));
    result = compile(texts.front(), true);
    if (result != CUDA_SUCCESS) {
      Log(LogLevel::kError, "%s: PTX does not compile: %s", image.name.c_str(),
          refusal.c_str());
    } else {
      Log(LogLevel::kWarning, "%s: %zu kernels are left out: %s",
          image.name.c_str(), code->info.failed.size(), refusal.c_str());
    }
  }
  if (log != nullptr) *log += messages;
  return result;
}

bool CompileAlone(const Image& image, const Device& device,
                  const std::string& kernel, Code* code) {
  std::vector<std::string> texts;
  if (PtxCandidates(image, device, &texts) != CUDA_SUCCESS || texts.empty()) {
    return false;
  }
  JitResult compiled = CompilePtx({.ptx = texts.front(),
                                   .target = device.target,
                                   .name = image.name,
                                   .kernel = kernel,
                                   .variables = kernel.empty() ? "alone" : ""});
  if (compiled.status != CUDA_SUCCESS ||
      !TakeCode(std::move(compiled.code), compiled.from, image,
                device.target.ToString(), code)) {
    return false;
  }
  const std::vector<KernelInfo>& kernels = code->info.kernels;
  return kernel.empty() ? kernels.empty()
                        : kernels.size() == 1 && kernels.front().name == kernel;
}

}  // namespace cerberus::stub
