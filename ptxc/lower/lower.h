// Syntax tree to LLVM IR.
//
//   ProgramLowering   the modules of a code object (usually one)
//   ModuleLowering    variables, signatures, kernels' ABI
//   FunctionLowering  one body; one method for each lowering function that
//                     ptx_opcodes.def names, in the lower/*.cc of its family
//
// A PTX register becomes an alloca of its own width; SROA turns them into
// SSA values. What a block has read or written of one it does not read again,
// since half of SROA's work is loads. An instruction reads its operands as LLVM
// values of the instruction's types and writes its results with the extension
// that PTX prescribes, so a .b32 register may hold an int, a float or two
// halves.
//
// Needs LLVM's headers; who wants something compiled includes compile.h.
#ifndef CERBERUS_PTXC_LOWER_LOWER_H_
#define CERBERUS_PTXC_LOWER_LOWER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "ptxc/address_spaces.h"
#include "ptxc/backend/kernel_meta.h"
#include "ptxc/compile/compile.h"
#include "ptxc/compile/parts.h"
#include "ptxc/front/ast.h"
#include "ptxc/front/block_bounds.h"
#include "ptxc/lower/call_graph.h"
#include "ptxc/lower/debug.h"
#include "ptxc/lower/variable_table.h"

namespace llvm {
class MCSubtargetInfo;
}

namespace cerberus::ptx {

struct LowerOptions {
  bool keep_going = false;
  bool debug = false;  // -G code: keep calls as calls
  std::string input_name;
  // Functions (mangled) that the front half found errors in, with the first.
  std::map<std::string, std::string> broken;
  // What is known of kernels' blocks beside what their PTX declares, or null.
  const BlockBounds* bounds = nullptr;
  // What the target can do; null: only what every target can.
  const llvm::MCSubtargetInfo* subtarget = nullptr;
};

class ModuleLowering;
struct SmallFormat;

// The modules of one code object, or a part of them, lowered into one LLVM
// module.
class ProgramLowering {
 public:
  struct Input {
    const Module* ptx;
    const LineIndex* lines;
    LowerOptions options;
  };
  // `table`: of variables that lie in code of their own; null: none does.
  ProgramLowering(const std::vector<Input>& inputs, CallGraph graph,
                  const ProgramPart& part, const VariableTable* table,
                  llvm::Module& out, const DiagSink& sink);
  ~ProgramLowering();

  // Lowers everything. The error is the first of those reported; kernels
  // that failed under keep_going stand in `info`.
  Status Run(ModuleInfo* info);

  CallGraph& graph() { return graph_; }
  const ProgramPart& part() const { return part_; }
  ModuleLowering& module(std::uint32_t index) { return *modules_[index]; }
  // Whether any function has a barrier of clusters.
  bool meets_in_clusters() const { return meets_in_clusters_; }
  // Of a definition; VariableTable::kNowhere: it is this code's.
  std::uint32_t PlaceInTable(Symbol variable) const;

 private:
  void LowerTable();

  CallGraph graph_;
  const ProgramPart& part_;
  const VariableTable* const table_;
  std::vector<std::unique_ptr<ModuleLowering>> modules_;
  bool meets_in_clusters_ = false;
};

class ModuleLowering {
 public:
  ModuleLowering(ProgramLowering& program, std::uint32_t index,
                 const ProgramLowering::Input& input, llvm::Module& out,
                 const DiagSink& sink);

  // Adds the managed variables that are defined here.
  void ListManaged(ModuleInfo* info) const;
  // The steps of ProgramLowering::Run, each for all modules in turn.
  void LowerVariables();
  void LowerBodies();
  void RemoveFailed(ModuleInfo* info);
  const std::optional<Diag>& first_error() const { return first_error_; }
  // Whether something outside of functions cannot be lowered.
  bool failed() const { return failed_; }

  const Module& ptx() const { return ptx_; }
  llvm::Module& out() { return out_; }
  llvm::LLVMContext& context() { return out_.getContext(); }
  const LowerOptions& options() const { return options_; }
  const ProgramPart& part() const { return program_.part(); }
  const ProgramLowering& program() const { return program_; }

  FunctionState& state(std::uint32_t id) {
    return program_.graph().State({index_, id});
  }
  bool ExitsThroughPointers() {
    return program_.graph().exits_through_pointers();
  }
  const CallGraph& graph() const { return program_.graph(); }

  // Module-scope variables and a function's .shared/.global/.const ones.
  llvm::GlobalVariable* GlobalOf(std::uint32_t variable);
  // Of a definition: what other code objects are to be led to. Of a managed
  // variable that is where its address stands.
  llvm::GlobalVariable* StorageOf(std::uint32_t variable);
  // Whether the initialiser takes less of an address than its 64 bits, as
  // `.u32 p = a` does. No loader knows relocations for that, so the variable
  // is left zero and kernels that name it are not compiled.
  bool HoldsPartOfAddress(std::uint32_t variable);
  void SetCommonAttributes(llvm::Function& function);
  // The function with its final signature.
  llvm::Function* FunctionOf(std::uint32_t id);
  // What a function's name means as a value: its code, or of a kernel the
  // variable that the host fills for those who launch it.
  llvm::GlobalValue* AddressedFunction(std::uint32_t id);
  // What a name stands for, in whichever module it is defined; what is
  // declared only stands for itself.
  const Function& FunctionDefinition(std::uint32_t id);
  const Variable& VariableDefinition(std::uint32_t id);
  // Parameters and return values as LLVM types.
  llvm::FunctionType* SignatureOf(const std::vector<std::uint32_t>& returns,
                                  const std::vector<std::uint32_t>& params,
                                  bool may_exit);
  llvm::Type* ParamType(const Variable& variable);

  Where WhereOf(const Function* function, std::uint32_t text_offset,
                std::uint32_t loc);
  DebugInfo& debug_info() { return debug_info_; }
  int LineOf(std::uint32_t text_offset) { return lines_.At(text_offset).line; }
  void Report(Diag diag);
  // Whether nothing was said of this yet: what a module cannot have at all is
  // said once.
  bool IsNews(const char* what) { return said_.insert(what).second; }

 private:
  bool DefinesFunction(std::uint32_t id);
  void DeclareKernel(std::uint32_t id);
  void DeclareDevice(std::uint32_t id);
  void SetLaunchBounds(const Function& ptx, llvm::Function& function);
  llvm::Constant* SamplerHandle(const Variable& variable);
  llvm::Constant* Initializer(const Variable& variable);
  llvm::GlobalVariable* CreateGlobal(std::uint32_t id);
  llvm::GlobalVariable* KernelHandle(const Function& kernel);

  ProgramLowering& program_;
  const std::uint32_t index_;  // of this module in the program
  const Module& ptx_;
  llvm::Module& out_;
  const LowerOptions options_;
  const DiagSink& sink_;
  const LineIndex& lines_;
  DebugInfo debug_info_;
  std::vector<llvm::GlobalVariable*> globals_;           // by variable id
  std::vector<std::optional<bool>> parts_of_addresses_;  // the same, once asked
  std::set<std::string_view> said_;
  std::optional<Diag> first_error_;
  bool failed_ = false;
};

class FunctionLowering {
 public:
  FunctionLowering(ModuleLowering& module, std::uint32_t id);
  // False if anything in the body could not be lowered (it was reported).
  bool Run();

  // One method for each lowering function that ptx_opcodes.def names; they
  // stand in the lower/*.cc of their family.
#define CERB_LOWERING(name) void name();
#include "lowerings.inc"
#undef CERB_LOWERING
  void Unsupported();

 private:
  friend class WarpMatrix;
  friend class MatrixMove;
  friend class MatrixProduct;

  // What the methods of one name do for floating-point types.
  void LowerFpAdd();
  void LowerFpSub();
  void LowerFpMul();
  void LowerFpDiv();
  void LowerFpAbs();
  void LowerFpNeg();
  void LowerFpMinMax();

  using Value = llvm::Value;

  // ---- Body (lower/function.cc) ----
  void CreateEntry();
  std::uint32_t RegisterOf(std::uint32_t variable) const;
  void CreateBlocks();
  void LowerInstruction(const Instruction& inst);
  llvm::BasicBlock* NewBlock(const char* name);
  llvm::BasicBlock* BlockOfLabel(std::uint32_t label);
  bool Terminated() const;
  // Instruction could not be lowered; said once per instruction.
  void Fail(std::string why);
  // "'tex.2d…' is not supported" with a reason of ours.
  void FailUnsupported(std::string_view why);

  // ---- Current instruction ----
  const InstForm& form() const { return *inst_->form; }
  const Modifiers& mods() const { return inst_->form->mods; }
  Type type(int i = 0) const { return inst_->form->type(i); }
  int num_types() const { return inst_->form->num_types; }
  int num_operands() const { return inst_->num_operands; }
  const Operand& op(int i) const {
    return ptx_.operands[inst_->first_operand + static_cast<unsigned>(i)];
  }
  const Operand& child(const Operand& composite, unsigned i) const {
    return ptx_.operands[composite.index + i];
  }
  bool ftz() const { return mods().ftz() == Ftz::kOn; }
  // Whether the target has a group of instructions, by LLVM's name for it.
  bool TargetHas(const char* feature) const;

  // ---- Types and values (lower/value.cc) ----
  llvm::Type* LlvmType(Type type);
  llvm::Type* SlotType(const Register& reg);
  llvm::IntegerType* Int(unsigned bits) { return b_.getIntNTy(bits); }
  llvm::Constant* I32(std::uint64_t v) { return b_.getInt32(v); }
  llvm::Constant* I64(std::uint64_t v) { return b_.getInt64(v); }
  llvm::Constant* IntOf(llvm::Type* type, std::uint64_t v) {
    return llvm::ConstantInt::get(type, v);
  }
  llvm::Constant* Fp(llvm::Type* type, double v) {
    return llvm::ConstantFP::get(type, v);
  }
  Value* Slot(std::uint32_t reg, Component part);
  Value* LoadRegister(std::uint32_t reg, Component part);
  void StoreRegister(std::uint32_t reg, Component part, Value* value);
  Value** KnownHere(std::uint32_t reg);
  // How many elements a vector register of `bits` in all has; 0 for others.
  unsigned PackedElements(const Operand& operand, std::uint64_t bits) const;
  static Operand ComponentOf(Operand vector, unsigned i);
  Value* Pack(unsigned count, llvm::Type* type,
              llvm::function_ref<Value*(unsigned, Type)> element);
  void Unpack(Value* value, unsigned count,
              llvm::function_ref<Operand(unsigned)> element);
  Value* ReadFloat(const Operand& operand, llvm::Type* want);  // a constant
  Value* Read(const Operand& operand, Type type);
  Value* In(int i, Type type) { return Read(op(i), type); }
  Value* In(int i) { return Read(op(i), type()); }
  Value* ReadPred(const Operand& operand);
  void Write(const Operand& operand, Value* value, Type type);
  void Out(int i, Value* value, Type type) { Write(op(i), value, type); }
  void Out(Value* value) { Write(op(0), value, type()); }
  // Same bits, or truncated or extended as `type` says, as an LLVM `type`.
  Value* Coerce(Value* value, Type type);
  Value* AsInt(Value* value);  // bits of any value
  Value* FromInt(Value* bits, llvm::Type* type);
  Value* AddressOfVariable(const Operand& operand);  // as an integer
  // What sym+4 or array[%r+1] add to a variable's address; null if nothing.
  Value* OffsetInVariable(const Operand& operand);
  // A module variable; fails if it is extern and nothing defines it.
  llvm::GlobalVariable* DefinedGlobal(std::uint32_t variable);
  Value* LocalStorage(std::uint32_t variable);  // alloca of a variable
  Value* CarryFlag();
  llvm::AllocaInst* EntryAlloca(llvm::Type* type, llvm::Align align,
                                const llvm::Twine& name);

  // ---- Calls (lower/value.cc) ----
  Value* Intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types,
                   llvm::ArrayRef<Value*> args);
  Value* Unary(llvm::Intrinsic::ID id, Value* a) {
    return Intrinsic(id, {a->getType()}, {a});
  }
  Value* Binary(llvm::Intrinsic::ID id, Value* a, Value* b) {
    return Intrinsic(id, {a->getType()}, {a, b});
  }
  // A function of the device library (devlib/devlib.cc).
  Value* Dev(llvm::StringRef name, llvm::Type* result,
             llvm::ArrayRef<Value*> args);

  // ---- Special registers (lower/special.cc) ----
  Value* GlobalTimer(SpecialReg reg);
  Value* Special(SpecialReg reg, Component part);
  llvm::Value* Clock();  // %clock64
  Value* HiddenArg(unsigned offset, unsigned bits);
  Value* LaunchBlock(unsigned offset, unsigned bits);
  // What depends on how warps lie in waves (passes/lanes/waves.h).
  Value* Wave(llvm::StringRef name, llvm::ArrayRef<Value*> args = {});
  Value* ThreadId(int axis);
  Value* BlockId(int axis);
  Value* BlockSize(int axis);
  Value* GridSize(int axis);
  Value* BlockThreads();
  // What depends on the launch's cluster (passes/clusters.h).
  Value* Cluster(llvm::StringRef name);
  Value* ClusterSize(int axis);
  Value* ClusterBlocks();
  Value* ClusterRank();
  Value* LaneId();

  // ---- Floating point (lower/float.cc) ----
  // .ftz on inputs and results; nothing where the function's mode does it.
  Value* Flush(Value* v);
  Value* FlushBits(Value* v);  // whatever the mode
  Value* OfTurns(llvm::Intrinsic::ID id, Value* turns);
  Value* FpIn(int i);           // operand i with .ftz applied
  Value* FlushInput(Value* v);  // an operand with .ftz applied
  void FpOut(Value* v);         // .sat, .relu and .ftz applied
  Value* Saturate(Value* v);
  Value* Relu(Value* v);
  Value* Elementwise(Value* v, llvm::function_ref<Value*(Value*)> fn);
  Value* FpArith(const char* name, llvm::ArrayRef<Value*> args);
  Value* Fusable(Value* v);
  Value* MinMax(Value* a, Value* b, bool is_max);
  bool IsFpType() const;
  bool IsApprox() const { return mods().precision() == Precision::kApprox; }
  std::string RoundingSuffix() const;  // "rz", "rm", "rp"; "" for nearest

  // ---- Integers (lower/integer.cc) ----
  Value* MulHigh(Value* a, Value* b, bool is_signed);
  Value* DivRem(Value* a, Value* b, bool is_signed, bool want_remainder);
  Value* Product(Value* a, Value* b, Type t, MulMode mode);
  std::pair<Value*, Value*> AddCarry(Value* a, Value* b, Value* carry);
  std::pair<Value*, Value*> SubBorrow(Value* a, Value* b, Value* borrow);
  Value* CompareInt(Cmp cmp, Value* a, Value* b, bool is_signed);
  Value* CompareFp(Cmp cmp, Value* a, Value* b);
  Value* Compare(Type t);
  void SetLike(bool to_predicate);

  // ---- Dot products (lower/dot.cc) ----
  // 32 bits of integers next to each other.
  struct PackedInts {
    Value* word;
    bool is_signed;
  };
  // sum + a0 b0 + a1 b1 + …, the last 32 bits of it. The integers have 8 or 4
  // `bits`.
  Value* PackedDot(unsigned bits, const PackedInts& a, const PackedInts& b,
                   Value* sum);

  // ---- Memory (lower/memory.cc) ----
  struct Pointer {
    Value* pointer = nullptr;
    bool invariant = false;  // nothing writes it while the kernel runs
  };
  Pointer Address(const Operand& operand, Space space);
  Value* ToPointer(Value* address, unsigned as);
  llvm::SyncScope::ID SyncScope(Scope scope);
  void Fence(llvm::AtomicOrdering ordering, llvm::SyncScope::ID scope);
  std::vector<Value*> LoadOrdered(Value* pointer, unsigned width,
                                  unsigned bytes);
  std::vector<Value*> StoredParts(const Operand& source);
  void StoreParts(const std::vector<Value*>& parts, Value* pointer);
  bool IsOrderedLoad() const;
  bool IsOrderedStore() const;
  // The scope of the instruction's accesses.
  llvm::SyncScope::ID AccessScope();
  void WriteParts(const std::vector<Value*>& parts, Type as_bits);
  void LoadOrLdu(bool ldu);
  Value* LoadScalar(Value* pointer, llvm::Type* type, unsigned align,
                    bool invariant);
  void CopyAttributes(llvm::Instruction* access);

  // ---- Atomics (lower/atomic.cc) ----
  void AtomLike(bool reduction);
  Value* AtomicOp(Value* pointer, Value* a, Value* b, Type t);
  Value* AtomicOp(Value* pointer, Value* a, Value* b, Type t,
                  llvm::AtomicOrdering order);

  // ---- Asynchronous copies, mbarriers (lower/async.cc) ----
  Value* SharedAt(const Operand& operand);
  void CompleteTx(Value* mbarrier, Value* bytes);
  void If(Value* condition, llvm::function_ref<void()> body);
  Value* Moved(Value* address, Value* bytes);
  void Multicast(Value* mask, llvm::function_ref<void(Value*)> copy);
  void ReduceBulk(Value* to, Value* from, Value* size);
  Value* ClusterThreads();
  // ---- Copies by tensor map (lower/tensor.cc) ----
  std::vector<Value*> TensorBox(const Operand& tensor, std::string* kind);
  void LeaveCluster();

  // ---- Memory of several GPUs (lower/multimem.cc) ----
  void ForMembers(const Operand& address, Space space, Value* bytes,
                  llvm::function_ref<void(Value*, Value*)> access);
  Value* Accumulator(Value* bits, Type t);
  Value* Accumulate(Value* sum, Value* v, Type t);
  Value* Accumulated(Value* sum, Type t);

  // ---- Tensor memory (lower/tensor_memory.cc) ----
  llvm::GlobalVariable* TensorMemory();
  llvm::GlobalVariable* TensorColumns();
  Value* TensorAddress(const Operand& operand);
  std::vector<Value*> TensorMemories();
  std::vector<Value*> TensorWords(const Operand& address, unsigned registers);

  // ---- Textures (lower/texture.cc) ----
  struct TextureCoordinates {
    Value* handle = nullptr;
    Value* sampler = nullptr;  // the same handle in unified mode
    Value* layer = nullptr;
    Value* at[3] = {};
  };
  struct TextureExtras {
    Value* offset[3] = {};
    Value* compare = nullptr;
    Value* reference = nullptr;
  };
  Value* TextureHandle(const Operand& operand);
  Value* HandleOfVariable(std::uint32_t id);
  TextureCoordinates ReadCoordinates(const Operand& texture, Type type);
  TextureExtras ReadTextureExtras(int first);
  Value* LevelOfGradients(const TextureCoordinates& c, int first);
  void WriteTexel(Value* texel, Type type);

  // ---- Surfaces (lower/surface.cc) ----
  Value* SurfaceAddress(const Operand& surface, unsigned bytes);
  void IfInside(Value* at, llvm::function_ref<void()> access);

  // ---- Video instructions (lower/video.cc) ----
  Value* ReadWord(const Operand& operand);
  void WriteWord(Value* value);
  Value* Extend(Value* v, Type t, unsigned bits);
  Value* VideoPart(const Operand& operand, Type t, unsigned width);
  Value* ClampTo(Value* v, unsigned bits, bool is_signed);
  Value* VideoArith(Value* a, Value* b);
  void FinishVideo(Value* v, Type result);
  void VideoSimd(unsigned lanes);
  bool IsSumOfDifferences() const;

  // ---- Control (lower/control.cc) ----
  void EmitReturn();
  void EmitExit();
  void LeaveIf(Value* exited);
  llvm::AllocaInst* VectorStorage(std::uint32_t reg);
  llvm::AllocaInst* VectorStorage(const Operand& operand);
  void WritePassed(const Operand& to, Value* value, Type type);
  struct Callee {
    const std::vector<std::uint32_t>* returns = nullptr;
    const std::vector<std::uint32_t>* params = nullptr;
    llvm::FunctionType* signature = nullptr;
    Value* target = nullptr;
    std::size_t returned = 0;  // values
    bool may_exit = false;
  };
  bool DirectCallee(const Operand& callee, Callee* to);
  bool IndirectCallee(const Operand& callee, Callee* to);
  Value* CallArgument(const Operand& operand, std::uint32_t param,
                      llvm::Type* type);

  // ---- Device services (lower/service.cc) ----
  Value* ServiceContext();
  Value* KernelName();
  void EndWave();
  // A call of a function that CUDA's device runtime defines; false if it
  // does not.
  bool CallService(std::uint32_t callee);
  void FailOnce(const char* why, std::string message);
  Value* InMemory(Value* value);
  void EmitTrap(unsigned kind);

  // ---- Warps (lower/warp.cc) ----
  Value* Join(llvm::Type* result, llvm::ArrayRef<Value*> args,
              llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> work);
  Value* WithAllLanes(llvm::Type* result, llvm::ArrayRef<Value*> with,
                      llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> work);
  Value* Ballot(Value* predicate);
  Value* CountVotes(Vote vote, Value* mask, Value* predicate);
  Value* BitOf(Value* lane) { return b_.CreateShl(I32(1), lane); }
  Value* Permute(Value* lane, Value* bits);
  void Barrier();
  bool IsAligned() const;
  static constexpr unsigned kMostWarps = 32;
  llvm::GlobalVariable* WarpCounts();
  Value* BlockCount(Value* predicate);
  static constexpr unsigned kReservedShared = 1024;  // bytes
  Value* ReservedShared(unsigned offset);
  llvm::GlobalVariable* OwnShared(llvm::StringRef name, unsigned words);
  static constexpr unsigned kNamedBarriers = 16;
  static constexpr unsigned kArrivalWords = 2 * kNamedBarriers + kMostWarps + 1;
  Value* NamedBarriers();
  Value* Arrivals();
  Value* EndedWarps();
  void LeaveBarriers();
  void ClearOwnShared();
  Value* NamedBarrier(Value* id, Value* threads, Value* predicate);

  // ---- Conversions (lower/convert.cc) ----
  Value* IntToInt(Value* v, Type from, Type to);
  Value* IntToFloat(Value* v, Type from, Type to);
  Value* IntToBFloat(Value* v, bool is_signed);
  Value* IntToHalf(Value* v, bool is_signed);
  Value* FloatToInt(Value* v, Type from, Type to);
  Value* RoundToBFloat(Value* v);
  Value* FloatToFloat(Value* v, Type from, Type to);
  Value* Widen(Value* v, Type from);  // any float format to f32
  std::function<Value*(unsigned)> ScalesOf(int at, const char* function);
  Value* ClampFinite(Value* v, Type format);
  void ConvertToHalves(Type to);
  void ConvertToHalves(Type to, const SmallFormat* small);
  void ConvertToSmall(Type to, Type from, const SmallFormat* small);
  void ConvertToTf32();
  bool ConvertPacked();
  void ConvertRandomly();

  ModuleLowering& module_;
  const Module& ptx_module_;
  const Function& ptx_;
  std::uint32_t id_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::Instruction* alloca_point_ = nullptr;
  std::vector<llvm::AllocaInst*> slots_;  // by register id
  // By register id, what it holds in the block that is made now.
  llvm::DenseMap<std::uint32_t, Value*> known_;
  const llvm::BasicBlock* known_in_ = nullptr;
  std::vector<std::pair<std::uint32_t, Value*>> locals_;  // variable, storage
  std::vector<llvm::BasicBlock*> blocks_;                 // by label id
  llvm::AllocaInst* carry_ = nullptr;
  const Instruction* inst_ = nullptr;
  bool inst_failed_ = false;
  bool failed_ = false;
  bool flush_f32_ = false;
};

}  // namespace cerberus::ptx

#endif  // CERBERUS_PTXC_LOWER_LOWER_H_
