#include "millrace/ops/state/kept_records.h"

#include <cstring>
#include <optional>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/format/shape_codec.h"
#include "millrace/format/wire_format.h"

namespace millrace {
namespace {

using wire::Field;
using wire::Reader;
using wire::WireType;

enum RecordField : uint32_t {
  kVariable = 1,
  kQueue = 2,
  kIn = 3,
  kOut = 4,
  kDropped = 5,
  kLent = 6,
  kApplied = 7,
  kMade = 8,
  kIdentity = 9,
  kReign = 10
};
enum NameField : uint32_t { kDevice = 1, kContainer = 2, kName = 3 };
enum VariableField : uint32_t { kVariableDtype = 4, kVariableShape = 5, kVariableValue = 6 };
enum QueueField : uint32_t {
  kQueueOp = 4,
  kQueueTypes = 5,
  kQueueShapes = 6,
  kQueueCapacity = 7,
  kQueueReserve = 8,
  kQueueSeed = 9,
  kQueueSeed2 = 10,
  kQueueClosed = 11,
  kQueueNext = 12
};
enum ElementField : uint32_t { kNumber = 4, kTensors = 5, kDroppedKind = 4 };
enum LentField : uint32_t {
  kIncarnation = 4,
  kNextLease = 5,
  kLoan = 6,
  kDied = 7,
  kDeadLetters = 8
};
enum LoanField : uint32_t { kLoanNumber = 1, kLoanAttempt = 2, kLoanElement = 3 };
enum AppliedField : uint32_t { kLender = 4, kHorizon = 5, kOpen = 6, kOfElement = 7 };
enum OfElementField : uint32_t { kElementNumber = 1, kSettled = 2, kUpdate = 3 };
enum UpdateField : uint32_t { kStep = 1, kUpdateName = 2 };
enum MadeField : uint32_t { kMadeLender = 4, kMadeNumber = 5, kMadeStep = 6, kMadeUpdate = 7 };
enum IdentityField : uint32_t { kDrawn = 4 };
enum ReignField : uint32_t { kReignSince = 4, kReignLast = 5 };
enum TensorField : uint32_t {
  kTensorDtype = 1,
  kTensorShape = 2,
  kTensorBytes = 3,
  kTensorText = 4
};

Status no_record(std::string_view what) {
  return error(Code::data_loss, "a record of the state has ", what);
}

// ---- Writing ------------------------------------------------------------------------------------

void put_nonzero(std::string* out, uint32_t field, uint64_t number) {
  if (number != 0) wire::put_varint_field(out, static_cast<int>(field), number);
}

void put_name(std::string* out, const KeptName& name) {
  put_nonzero(out, kDevice, name.device);
  wire::put_bytes_field(out, kContainer, name.container);
  wire::put_bytes_field(out, kName, name.name);
}

void put_tensor(std::string* out, uint32_t field, const Tensor& tensor) {
  const size_t expected = tensor.dtype() == DType::string ? 0 : tensor.num_bytes() + 32;
  const wire::NestedField nested(out, static_cast<int>(field), expected);
  put_nonzero(out, kTensorDtype, static_cast<uint64_t>(tensor.dtype()));
  wire::put_shape(out, kTensorShape, PartialShape(tensor.shape()));
  if (tensor.dtype() == DType::string) {
    for (const std::string& text : tensor.flat<std::string>())
      wire::put_bytes_field(out, kTensorText, text);
  } else {
    wire::put_bytes_field(out, kTensorBytes, tensor.bytes());
  }
}

void put_fields(std::string* out, const KeptVariable& variable) {
  put_nonzero(out, kVariableDtype, static_cast<uint64_t>(variable.dtype));
  wire::put_shape(out, kVariableShape, variable.shape);
  if (variable.value.has_value()) put_tensor(out, kVariableValue, variable.value);
}

void put_fields(std::string* out, const KeptQueue& queue) {
  wire::put_bytes_field(out, kQueueOp, queue.spec.op);
  for (const DType type : queue.spec.types)
    put_nonzero(out, kQueueTypes, static_cast<uint64_t>(type));
  for (const PartialShape& shape : queue.spec.shapes) wire::put_shape(out, kQueueShapes, shape);
  put_nonzero(out, kQueueCapacity, static_cast<uint64_t>(queue.spec.capacity));
  put_nonzero(out, kQueueReserve, static_cast<uint64_t>(queue.spec.min_after_dequeue));
  put_nonzero(out, kQueueSeed, static_cast<uint64_t>(queue.spec.seed));
  put_nonzero(out, kQueueSeed2, static_cast<uint64_t>(queue.spec.seed2));
  put_nonzero(out, kQueueClosed, queue.is_closed ? 1 : 0);
  put_nonzero(out, kQueueNext, queue.next_number);
}

void put_fields(std::string* out, const KeptIn& in) {
  put_nonzero(out, kNumber, in.number);
  for (const Tensor& tensor : in.element) put_tensor(out, kTensors, tensor);
}

void put_fields(std::string* out, const KeptOut& gone) {
  for (const uint64_t number : gone.numbers) put_nonzero(out, kNumber, number);
}

void put_fields(std::string* out, const KeptDropped& dropped) {
  put_nonzero(out, kDroppedKind, static_cast<uint64_t>(dropped.kind));
}

void put_fields(std::string* out, const KeptLent& lent) {
  const KeptLoans& loans = lent.loans;
  put_nonzero(out, kIncarnation, loans.incarnation);
  put_nonzero(out, kNextLease, loans.book.next);
  for (size_t i = 0; i < loans.book.open.size(); ++i) {
    const wire::NestedField loan(out, kLoan);
    put_nonzero(out, kLoanNumber, loans.book.open[i].number);
    put_nonzero(out, kLoanAttempt, loans.book.open[i].attempt);
    put_nonzero(out, kLoanElement, loans.elements[i]);
  }
  for (const uint64_t number : loans.book.dead) put_nonzero(out, kDied, number);
  for (const uint64_t number : loans.dead) put_nonzero(out, kDeadLetters, number);
}

void put_fields(std::string* out, const KeptApplied& applied) {
  put_nonzero(out, kLender, applied.part.queue);
  put_nonzero(out, kHorizon, applied.part.horizon);
  for (const uint64_t number : applied.part.open) put_nonzero(out, kOpen, number);
  for (const AppliedBook::Part::Element& element : applied.part.elements) {
    const wire::NestedField nested(out, kOfElement);
    put_nonzero(out, kElementNumber, element.number);
    put_nonzero(out, kSettled, element.settled);
    for (const auto& each : element.applied) {
      const wire::NestedField update(out, kUpdate);
      put_nonzero(out, kStep, each.step);
      wire::put_bytes_field(out, kUpdateName, each.update);
    }
  }
}

void put_fields(std::string* out, const KeptMade& made) {
  put_nonzero(out, kMadeLender, made.update.queue);
  put_nonzero(out, kMadeNumber, made.update.number);
  put_nonzero(out, kMadeStep, made.update.step);
  wire::put_bytes_field(out, kMadeUpdate, made.update.update);
}

void put_fields(std::string* out, const KeptIdentity& identity) {
  put_nonzero(out, kDrawn, identity.identity);
}

void put_fields(std::string* out, const KeptReign& reign) {
  put_nonzero(out, kReignSince, reign.since);
  put_nonzero(out, kReignLast, reign.last);
}

// ---- Reading ------------------------------------------------------------------------------------

Status read_name(const Field& field, KeptName* name) {
  if (field.is(kDevice, WireType::varint)) name->device = field.value;
  if (field.is(kContainer, WireType::bytes)) name->container = field.bytes;
  if (field.is(kName, WireType::bytes)) name->name = field.bytes;
  return {};
}

Result<DType> read_dtype(uint64_t number) {
  const std::optional<DType> dtype = number > static_cast<uint64_t>(kMaxDType)
                                         ? std::nullopt
                                         : dtype_from_number(static_cast<int>(number));
  if (dtype && can_be_kept(*dtype)) return *dtype;
  return no_record(str_cat("a value of type ", number, ", which is none that is kept"));
}

Result<Tensor> read_texts(const Shape& shape, const std::vector<std::string_view>& texts) {
  // Before memory is asked for.
  if (static_cast<uint64_t>(shape.num_elements()) != texts.size())
    return no_record(str_cat(texts.size(), " strings for the shape ", shape.to_string()));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::string, shape));
  for (size_t i = 0; i < texts.size(); ++i) made.mutable_flat<std::string>()[i] = texts[i];
  return made;
}

Result<Tensor> read_plain(DType dtype, const Shape& shape, std::string_view bytes) {
  const uint64_t held = bytes.size() / dtype_size(dtype);
  if (static_cast<uint64_t>(shape.num_elements()) != held || bytes.size() % dtype_size(dtype) != 0)
    return no_record(str_cat(bytes.size(), " bytes for ", dtype_name(dtype), shape.to_string()));
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype, shape));
  if (!bytes.empty()) std::memcpy(made.mutable_data(), bytes.data(), bytes.size());
  return made;
}

Result<Tensor> read_tensor(Reader reader) {
  DType dtype = DType::invalid;
  Shape shape;
  std::string_view bytes;
  std::vector<std::string_view> texts;
  for (Field field; reader.next(&field);) {
    if (field.is(kTensorDtype, WireType::varint)) {
      MR_ASSIGN(dtype, read_dtype(field.value));
    } else if (field.is(kTensorShape, WireType::bytes)) {
      MR_ASSIGN(shape, wire::read_shape(reader.inside(field)));
    } else if (field.is(kTensorBytes, WireType::bytes)) {
      bytes = field.bytes;
    } else if (field.is(kTensorText, WireType::bytes)) {
      texts.push_back(field.bytes);
    }
  }
  MR_TRY(reader.status());
  if (dtype == DType::invalid) return no_record("a value without a type");
  return dtype == DType::string ? read_texts(shape, texts) : read_plain(dtype, shape, bytes);
}

Status read_field(Reader& reader, const Field& field, KeptVariable* variable) {
  if (field.is(kVariableDtype, WireType::varint)) {
    MR_ASSIGN(variable->dtype, read_dtype(field.value));
  } else if (field.is(kVariableShape, WireType::bytes)) {
    MR_ASSIGN(variable->shape, wire::read_partial_shape(reader.inside(field)));
  } else if (field.is(kVariableValue, WireType::bytes)) {
    MR_ASSIGN(variable->value, read_tensor(reader.inside(field)));
  }
  return {};
}

Status read_field(Reader& reader, const Field& field, KeptQueue* queue) {
  QueueSpec& spec = queue->spec;
  if (field.is(kQueueOp, WireType::bytes)) spec.op = field.bytes;
  if (field.is(kQueueTypes, WireType::varint)) {
    MR_ASSIGN(const DType type, read_dtype(field.value));
    spec.types.push_back(type);
  }
  if (field.is(kQueueShapes, WireType::bytes)) {
    MR_ASSIGN(PartialShape shape, wire::read_partial_shape(reader.inside(field)));
    spec.shapes.push_back(std::move(shape));
  }
  if (field.type != WireType::varint) return {};
  if (field.number == kQueueCapacity) spec.capacity = static_cast<int64_t>(field.value);
  if (field.number == kQueueReserve) spec.min_after_dequeue = static_cast<int64_t>(field.value);
  if (field.number == kQueueSeed) spec.seed = static_cast<int64_t>(field.value);
  if (field.number == kQueueSeed2) spec.seed2 = static_cast<int64_t>(field.value);
  if (field.number == kQueueClosed) queue->is_closed = field.value != 0;
  if (field.number == kQueueNext) queue->next_number = field.value;
  return {};
}

Status read_field(Reader& reader, const Field& field, KeptIn* in) {
  if (field.is(kNumber, WireType::varint)) in->number = field.value;
  if (field.is(kTensors, WireType::bytes)) {
    MR_ASSIGN(Tensor tensor, read_tensor(reader.inside(field)));
    in->element.push_back(std::move(tensor));
  }
  return {};
}

Status read_field(Reader&, const Field& field, KeptOut* gone) {
  if (field.is(kNumber, WireType::varint)) gone->numbers.push_back(field.value);
  return {};
}

Status read_field(Reader&, const Field& field, KeptDropped* dropped) {
  if (!field.is(kDroppedKind, WireType::varint)) return {};
  if (field.value < 1 || field.value > 3) return no_record("dropped what is of no kind");
  dropped->kind = static_cast<KeptKind>(field.value);
  return {};
}

Status read_loan(Reader reader, KeptLoans* loans) {
  LeaseBook::Kept::Open open;
  uint64_t element = 0;
  for (Field field; reader.next(&field);) {
    if (field.is(kLoanNumber, WireType::varint)) open.number = field.value;
    if (field.is(kLoanAttempt, WireType::varint)) open.attempt = static_cast<uint32_t>(field.value);
    if (field.is(kLoanElement, WireType::varint)) element = field.value;
  }
  loans->book.open.push_back(open);
  loans->elements.push_back(element);
  return reader.status();
}

Status read_field(Reader& reader, const Field& field, KeptLent* lent) {
  KeptLoans& loans = lent->loans;
  if (field.is(kIncarnation, WireType::varint)) loans.incarnation = field.value;
  if (field.is(kNextLease, WireType::varint)) loans.book.next = field.value;
  if (field.is(kLoan, WireType::bytes)) MR_TRY(read_loan(reader.inside(field), &loans));
  if (field.is(kDied, WireType::varint)) loans.book.dead.push_back(field.value);
  if (field.is(kDeadLetters, WireType::varint)) loans.dead.push_back(field.value);
  return {};
}

Status read_of_element(Reader reader, AppliedBook::Part::Element* element) {
  for (Field field; reader.next(&field);) {
    if (field.is(kElementNumber, WireType::varint)) element->number = field.value;
    if (field.is(kSettled, WireType::varint)) element->settled = field.value;
    if (!field.is(kUpdate, WireType::bytes)) continue;
    AppliedBook::Part::Element::Update update;
    Reader inner = reader.inside(field);
    for (Field part; inner.next(&part);) {
      if (part.is(kStep, WireType::varint)) update.step = part.value;
      if (part.is(kUpdateName, WireType::bytes)) update.update = part.bytes;
    }
    MR_TRY(inner.status());
    element->applied.push_back(std::move(update));
  }
  return reader.status();
}

Status read_field(Reader& reader, const Field& field, KeptApplied* applied) {
  if (field.is(kLender, WireType::varint)) applied->part.queue = field.value;
  if (field.is(kHorizon, WireType::varint)) applied->part.horizon = field.value;
  if (field.is(kOpen, WireType::varint)) applied->part.open.push_back(field.value);
  if (!field.is(kOfElement, WireType::bytes)) return {};
  return read_of_element(reader.inside(field), &applied->part.elements.emplace_back());
}

Status read_field(Reader&, const Field& field, KeptMade* made) {
  if (field.is(kMadeLender, WireType::varint)) made->update.queue = field.value;
  if (field.is(kMadeNumber, WireType::varint)) made->update.number = field.value;
  if (field.is(kMadeStep, WireType::varint)) made->update.step = field.value;
  if (field.is(kMadeUpdate, WireType::bytes)) made->update.update = field.bytes;
  return {};
}

Status read_field(Reader&, const Field& field, KeptIdentity* identity) {
  if (field.is(kDrawn, WireType::varint)) identity->identity = field.value;
  return {};
}

Status read_field(Reader&, const Field& field, KeptReign* reign) {
  if (field.is(kReignSince, WireType::varint)) reign->since = field.value;
  if (field.is(kReignLast, WireType::varint)) reign->last = field.value;
  return {};
}

template <class Record>
Result<KeptRecord> read_record(Reader reader) {
  Record made;
  for (Field field; reader.next(&field);) {
    MR_TRY(read_name(field, &made.name));
    MR_TRY(read_field(reader, field, &made));
  }
  MR_TRY(reader.status());
  return KeptRecord(std::move(made));
}

Result<KeptRecord> read_any(Reader& reader) {
  Field field;
  if (!reader.next(&field) || field.type != WireType::bytes) return no_record("no kind");
  switch (field.number) {
    case kVariable:
      return read_record<KeptVariable>(reader.inside(field));
    case kQueue:
      return read_record<KeptQueue>(reader.inside(field));
    case kIn:
      return read_record<KeptIn>(reader.inside(field));
    case kOut:
      return read_record<KeptOut>(reader.inside(field));
    case kDropped:
      return read_record<KeptDropped>(reader.inside(field));
    case kLent:
      return read_record<KeptLent>(reader.inside(field));
    case kApplied:
      return read_record<KeptApplied>(reader.inside(field));
    case kMade:
      return read_record<KeptMade>(reader.inside(field));
    case kIdentity:
      return read_record<KeptIdentity>(reader.inside(field));
    case kReign:
      return read_record<KeptReign>(reader.inside(field));
    default:
      // Of a later Millrace, whose state it would not be without it.
      return no_record(str_cat("the kind ", field.number, ", which is not known here"));
  }
}

}  // namespace

bool can_be_kept(DType dtype) { return is_plain(dtype) || dtype == DType::string; }

std::string encode_kept(const KeptRecord& record) {
  // Of a small element of a queue: it grows once, not five times.
  constexpr size_t kUsualRecord = 256;
  std::string out;
  out.reserve(kUsualRecord);
  // The kinds are numbered as they stand in the variant.
  const int kind = static_cast<int>(record.index()) + 1;
  std::visit(
      [&](const auto& fields) {
        const wire::NestedField nested(&out, kind);
        put_name(&out, fields.name);
        put_fields(&out, fields);
      },
      record);
  return out;
}

Result<KeptRecord> decode_kept(std::string_view bytes) {
  Reader reader(bytes);
  Result<KeptRecord> read = read_any(reader);
  if (read.ok() && !reader.at_end()) return no_record("more than one kind");
  if (read.ok() || read.status().code() == Code::data_loss) return read;
  return error(Code::data_loss, read.status().message());
}

}  // namespace millrace
