package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/exit"
	"ledge/domain/spelling"
)

// commandLike suggests a command below c for an argument that is none: the one whose name, or other word for it, is most like it,
// else all of them.
func commandLike(c *cobra.Command, args []string) string {
	var names, words []string
	nameOf := map[string]string{}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		names = append(names, sub.Name())
		for _, word := range append([]string{sub.Name()}, sub.SuggestFor...) {
			words, nameOf[word] = append(words, word), sub.Name()
		}
	}
	if len(args) == 0 || len(names) == 0 {
		return ""
	}
	if best := spelling.Nearest(args[0], words); best != "" {
		return fmt.Sprintf("; did you mean %s?", nameOf[best])
	}
	return "; its commands are " + strings.Join(names, ", ")
}

// checkTopic refuses a topic of help that is not a command.
func checkTopic(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return exit.With(exit.Usage, fmt.Errorf("unknown command %q for %q%s; see `%s --help`", rest[0], found.CommandPath(), commandLike(found, rest), found.CommandPath()))
}

// formerFlags are flags of earlier versions, by command, that are arguments now.
var formerFlags = map[string][]string{"salvage": {"to"}, "create": {"name"}, "rekey": {"new-key-file"}}

// suggestFlag suggests a flag of c for one that does not exist.
func suggestFlag(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	if slices.Contains(formerFlags[c.Name()], unknown.GetSpecifiedName()) {
		return describeUse(c)
	}
	return config.SuggestSetting(unknown.GetSpecifiedName(), c.Flags(), "--")
}
