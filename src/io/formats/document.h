// An open checkpoint: where its bytes come from, and how to build what it describes, as often as
// wanted.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/read/builder.h"
#include "io/read/source.h"
#include "io/support/read_meter.h"
#include "tenon/value.h"

namespace tenon {

struct DocumentOptions {
  bool inert = false;
  bool follow_links = false;  // shards may be links out of their folder
  ReadLimits limits = {};
  // What opening it is charged to, if it is a part of another document; else it has its own.
  ReadMeter* meter = nullptr;
};

class Document {
 public:
  virtual ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  virtual std::string_view format() const noexcept = 0;  // "pth", "legacy", "safetensors", ...
  // The whole of it, charged to the meter. Any thread, any number of times.
  virtual Value build(Builder& builder, ReadMeter& meter) const = 0;
  // It is not built any more: what only that needs is let go of, and released.
  virtual void let_go(ReadMeter& /*meter*/) noexcept {}
  // A meter for one build, on which opening the document is counted already.
  ReadMeter meter() const { return own_meter_; }
  const Source& source() const noexcept { return *source_; }
  // Whether bytes can be compared with a checksum.
  virtual bool has_checksums() const noexcept = 0;
  // What the file says about itself: its version, its byte order.
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
  // All bytes of the file that belong to something, used or not, as storages of bytes. Where there
  // are no checksums, the file is one.
  virtual std::vector<StorageRecord> stretches() const;
  // Whether a tensor of it is only another name for bytes of one that is there.
  virtual bool is_alias(std::string_view /*name*/) const noexcept { return false; }

 protected:
  Document(std::shared_ptr<const Source> source, const DocumentOptions& options)
      : source_(std::move(source)),
        own_meter_(source_->name(), options.limits),
        opening_(options.meter) {
    opening().add_file(source_->size());
  }
  // What opening it is charged to. Only while it is being opened.
  ReadMeter& opening() noexcept { return opening_ != nullptr ? *opening_ : own_meter_; }

  std::shared_ptr<const Source> source_;

 private:
  ReadMeter own_meter_;
  ReadMeter* opening_;
};

}  // namespace tenon
