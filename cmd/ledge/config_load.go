package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

// read fills in all settings below the flags that were given, and checks them. path is the file of settings, or "".
func (c *Config) read(path string) (source map[string]string, err error) {
	source, err = load(c.declared, path, os.LookupEnv)
	err = errors.Join(err, unknownVariables(c.declared, os.Environ()))
	if err == nil {
		err = c.check()
	}
	if err == nil {
		c.bindEverywhere(source)
	}
	return source, err
}

// load fills in, below the flags that were given, what the environment and below it the file at path say. It returns
// where each setting's value comes from.
func load(flags *pflag.FlagSet, path string, env func(string) (string, bool)) (source map[string]string, err error) {
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	source = map[string]string{}
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		from, value := "default", f.DefValue
		if v, ok := file[f.Name]; ok {
			from, value = path, v
		}
		if v, ok := env(envName(f.Name)); ok {
			from, value = envName(f.Name), v
		}
		delete(file, f.Name)
		if f.Changed {
			source[f.Name] = "--" + f.Name
			return
		}
		source[f.Name] = from
		if err := f.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: setting %s: %q: %w", from, f.Name, value, inWords(f, err)))
		}
	})
	for _, name := range slices.Sorted(maps.Keys(file)) {
		errs = append(errs, fmt.Errorf("%s: there is no setting %q%s", path, name, orList(cmp.Or(removedSetting(name), didYouMean(name, flagNames(flags, ""))))))
	}
	return source, errors.Join(errs...)
}

// inWords is what is wrong with a value that f does not take, for people.
func inWords(f *pflag.Flag, err error) error {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is out of range; use a whole number that is nearer to 0")
	case f.Value.Type() == "int":
		return errors.New("is no whole number; use digits only, such as 60")
	case f.Value.Type() == "uint64":
		return errors.New("is no whole number of 0 or more; use digits only, such as 60")
	case f.Value.Type() == "duration":
		return errors.New("is no time; write it with its unit, such as 500ms, 30s, 24h or 90d")
	case f.Value.Type() == "bool":
		return errors.New("is neither true nor false; use one of them")
	}
	return err
}

// maxFile is the most bytes that a file of settings may have.
const maxFile = 1 << 20

// readFile flattens the YAML file at path: metadata: {port: 1} is "metadata-port": "1", and a list is its values with
// commas between them.
func readFile(path string) (map[string]string, error) {
	flat := map[string]string{}
	if path == "" {
		return flat, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer f.Close()
	var root yaml.Node
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("configuration file %s: is larger than 1 MiB; it needs only the settings that differ from their defaults", path)
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	if err := in.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file %s: something follows its first document; write all settings in one, without --- between them", path)
	}
	for _, n := range root.Content {
		if err := flatten(flat, "", n); err != nil {
			return nil, fmt.Errorf("configuration file %s: %w", path, err)
		}
	}
	return flat, nil
}

func flatten(flat map[string]string, prefix string, n *yaml.Node) error {
	if _, ok := flat[prefix]; ok && n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s is there twice; leave one of them out", n.Line, prefix)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if err := flatten(flat, strings.TrimPrefix(prefix+"-"+n.Content[i].Value, "-"), n.Content[i+1]); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		flat[prefix] = n.Value
	case yaml.SequenceNode:
		list := make([]string, len(n.Content))
		for i, one := range n.Content {
			if one.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: %s must be a list of single values", one.Line, prefix)
			}
			list[i] = one.Value
		}
		flat[prefix] = strings.Join(list, ",")
	default:
		return fmt.Errorf("line %d: %s must be a single value, a list of them or a section", n.Line, prefix)
	}
	return nil
}
