// load() and save() as a program calls them that is handed a file it does not trust: what the
// command does not do, and errors as the library words them.
//
// usage: hostile_load [--inert] [--mmap] [--filter NAME] IN [OUT]
//
// Exit: 0 done, 2 wrong usage, 3 refused, with what() on standard error as it is, 4 no memory.
#include <tenon/tenon.h>

#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  tenon::LoadOptions options;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--inert")
      options.inert = true;
    else if (word == "--mmap")
      options.mmap = true;
    else if (word == "--filter" && i + 1 < argc)
      options.filter = [wanted = std::string(argv[++i])](std::string_view name) {
        return name == wanted;
      };
    else
      files.emplace_back(word);
  }
  if (files.empty() || files.size() > 2) return 2;
  try {
    const tenon::Value value = tenon::load(files[0], options);
    if (files.size() == 2) tenon::save(value, files[1]);
  } catch (const tenon::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  } catch (const std::bad_alloc&) {
    return 4;
  }
  return 0;
}
