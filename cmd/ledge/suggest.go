package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"ledge/cmd/internal/exit"
	"ledge/domain/spelling"
)

// didYouMean returns the known word that is most like a word, as the end of a message; "" if none is like it.
func didYouMean(word string, known []string) string {
	best := spelling.Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

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

// topic refuses a topic of help that is no command.
func topic(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return exit.With(exit.Usage, fmt.Errorf("unknown command %q for %q%s; see `%s --help`", rest[0], found.CommandPath(), commandLike(found, rest), found.CommandPath()))
}

// formerFlags are flags of earlier versions, by command. What they said is an argument now.
var formerFlags = map[string][]string{"salvage": {"to"}, "create": {"name"}, "rekey": {"new-key-file"}}

// flagLike suggests a flag of c for one that does not exist.
func flagLike(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	if slices.Contains(formerFlags[c.Name()], unknown.GetSpecifiedName()) {
		return synopsis(c)
	}
	return cmp.Or(removedSetting(unknown.GetSpecifiedName()), didYouMean("--"+unknown.GetSpecifiedName(), flagNames(c.Flags(), "--")))
}

func flagNames(flags *pflag.FlagSet, prefix string) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, prefix+f.Name) })
	return names
}

// otherVariables are the environment variables that begin with LEDGE_ and are no settings.
var otherVariables = []string{"LEDGE_CONFIG", "LEDGE_ADMIN_PASSWORD", "LEDGE_ADMIN_PASSWORD_FILE"}

// mostVariables is how many unknown variables a warning names.
const mostVariables = 8

// unknownVariables warns in one line of the variables of an environment that begin with LEDGE_ and are no settings, those first that
// look like one. They are not refused: Kubernetes sets LEDGE_PORT and more for a service that is named ledge.
func unknownVariables(settings *pflag.FlagSet, environment []string) string {
	known := slices.Clone(otherVariables)
	settings.VisitAll(func(f *pflag.Flag) { known = append(known, envName(f.Name)) })
	var like, unlike []string
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, "LEDGE_")
		if !ours || slices.Contains(known, name) {
			continue
		}
		setting := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		cure := removedSetting(setting)
		if best := spelling.Nearest(setting, flagNames(settings, "")); cure == "" && best != "" {
			cure = "; did you mean " + envName(best) + "?"
		}
		if cure == "" {
			unlike = append(unlike, name)
		} else {
			like = append(like, name+" ("+strings.TrimPrefix(cure, "; ")+")")
		}
	}
	slices.Sort(like)
	slices.Sort(unlike)
	list := slices.Concat(like, unlike)
	if len(list) == 0 {
		return ""
	}
	more := ""
	if n := len(list) - mostVariables; n > 0 {
		list, more = list[:mostVariables], fmt.Sprintf(" and %d more", n)
	}
	return "environment variables without effect, as there is no such setting: " + strings.Join(list, ", ") + more + "; `ledge config` lists the settings"
}

// orList points to the list of settings where there is no suggestion.
func orList(suggestion string) string {
	if suggestion == "" {
		return "; `ledge config` lists them"
	}
	return suggestion
}
