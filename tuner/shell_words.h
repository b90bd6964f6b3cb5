#ifndef AUTOTUNE_TUNER_SHELL_WORDS_H_
#define AUTOTUNE_TUNER_SHELL_WORDS_H_

#include <string>
#include <vector>

namespace autotune {

// A word of a command line as a POSIX shell reads it back: quoted where it has to be.
std::string ShellWord(const std::string& word);

// The words as one command line.
std::string ShellCommand(const std::vector<std::string>& words);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_SHELL_WORDS_H_
