#include "support/recorded.h"

#include <fstream>
#include <sstream>

namespace tenon::recorded {

namespace {

// A block before its lines are divided into words.
struct Block {
  std::string where;
  std::vector<std::string> lines;
};

std::vector<Block> blocks(const std::filesystem::path& path, std::size_t at_least) {
  std::ifstream stream(path);
  if (!stream) throw Error(path.string() + ": cannot be read");
  std::vector<Block> all;
  bool open = false;
  int number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    if (text.empty()) open = false;
    if (text.empty() || text.front() == '#') continue;
    if (!open) all.push_back({path.filename().string() + ":" + std::to_string(number), {}});
    open = true;
    all.back().lines.push_back(std::move(text));
  }
  if (all.size() < at_least) {
    throw Error(path.string() + ": has " + std::to_string(all.size()) + " cases, and not " +
                std::to_string(at_least) + " or more");
  }
  return all;
}

// JSON text of ASCII and \n, \", \\, which is what Python's json.dumps makes of printed tensors.
// Takes it from the stream, up to its closing quote.
std::string quoted(std::istream& in) {
  std::string out;
  in.get();
  for (int c = in.get(); c != '"'; c = in.get()) {
    if (c == std::char_traits<char>::eof()) throw Error("a quoted word without an end: " + out);
    if (c == '\\') {
      c = in.get();
      if (c == 'n') c = '\n';
    }
    out += static_cast<char>(c);
  }
  return out;
}

Line words(const std::string& text) {
  Line line;
  std::istringstream in(text);
  for (std::string word; in >> std::ws && !in.eof();) {
    if (in.peek() == '"') {
      line.push_back(quoted(in));
    } else if (in >> word) {
      line.push_back(word);
    }
  }
  return line;
}

}  // namespace

const Line& Case::line(const std::string& word) const {
  for (const Line& candidate : lines) {
    if (candidate.front() == word) return candidate;
  }
  throw Error(where + ": there is no line '" + word + "'");
}

bool Case::has(const std::string& word) const { return !all(word).empty(); }

std::vector<Line> Case::all(const std::string& word) const {
  std::vector<Line> found;
  for (const Line& candidate : lines) {
    if (candidate.front() == word) found.push_back(candidate);
  }
  return found;
}

std::filesystem::path file(const std::string& name) {
  return std::filesystem::path(TENON_SOURCE_DIR) / "tests" / (name + ".cases");
}

std::vector<Case> cases(const std::filesystem::path& path, std::size_t at_least) {
  std::vector<Case> all;
  for (Block& block : blocks(path, at_least)) {
    all.push_back({std::move(block.where), {}});
    for (const std::string& line : block.lines) all.back().lines.push_back(words(line));
  }
  return all;
}

std::vector<Line> rows(const std::string& name, std::size_t at_least) {
  std::vector<Line> all;
  for (const Block& block : blocks(file(name), 1)) {
    for (const std::string& line : block.lines) all.push_back(words(line));
  }
  if (all.size() < at_least) {
    throw Error(name + ".cases has " + std::to_string(all.size()) + " rows, and not " +
                std::to_string(at_least) + " or more");
  }
  return all;
}

std::vector<Value> values(const std::string& name) {
  std::vector<Value> all;
  for (const Block& block : blocks(file(name), 1)) {
    std::vector<Value::Entry> entries;
    for (const std::string& line : block.lines) {
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) throw Error(block.where + ": no literal after " + line);
      entries.emplace_back(Value(line.substr(0, space)),
                           literal(std::string_view(line).substr(space + 1)));
    }
    all.push_back(Value::dict(std::move(entries)));
  }
  return all;
}

Value value(const std::string& name) {
  std::vector<Value> all = values(name);
  if (all.size() != 1)
    throw Error(name + ".cases has " + std::to_string(all.size()) + " blocks, and not one");
  return all.front();
}

std::vector<std::int64_t> integers(const std::string& word) {
  std::vector<std::int64_t> all;
  if (word == "-") return all;
  std::istringstream in(word);
  for (std::string item; std::getline(in, item, ',');) all.push_back(std::stoll(item));
  return all;
}

std::optional<std::int64_t> maybe_integer(const std::string& word) {
  return word == "-" || word.empty() ? std::nullopt : std::optional<std::int64_t>(std::stoll(word));
}

double real(const std::string& word) { return std::stod(word); }

std::optional<double> maybe_real(const std::string& word) {
  return word == "-" ? std::nullopt : std::optional(real(word));
}

std::vector<double> reals(const std::string& word) {
  std::vector<double> all;
  if (word == "-") return all;
  std::istringstream in(word);
  for (std::string item; std::getline(in, item, ',');) all.push_back(real(item));
  return all;
}

Dims sizes(const std::string& word) {
  Dims dims;
  for (const std::int64_t size : integers(word)) dims.push_back(size);
  return dims;
}

std::optional<bool> flag(const std::string& word) {
  return word == "-" ? std::nullopt : std::optional(word == "1");
}

DType dtype(const std::string& word) {
  const auto found = dtype_from_name(word);
  if (!found) throw Error("there is no dtype '" + word + "'");
  return *found;
}

std::string joined(const Line& line) {
  std::string text;
  for (const std::string& word : line) text += word + " ";
  return text;
}

}  // namespace tenon::recorded
