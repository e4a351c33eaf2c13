// The base of all modules is not copied by value; what is wanted is nn::clone.
// expect: protected
#include <tenon/tenon.h>

std::shared_ptr<tenon::nn::Module> f(const tenon::nn::Module& module) {
#ifdef MISTAKE
  tenon::nn::Module copy = module;
#endif
  return tenon::nn::clone(module);
}
