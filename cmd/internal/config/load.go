package config

import (
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

	"ledge/handlers/yamldoc"
)

// Load fills in all settings below the flags that were given, and checks them. path is the file of settings, or "". source says of each
// setting where its value comes from. The error names every setting that is wrong.
func (c *Config) Load(path string) (source map[string]string, err error) {
	c.file = path
	source, c.unused, err = load(c.declared, path, os.LookupEnv)
	if err = errors.Join(errors.Join(c.wrong...), err, c.check()); err == nil {
		c.bindEverywhere(source)
		shareOut(c, source)
		err = checkOldHosts(c)
	}
	return source, err
}

// IsUnset reports whether a source that [Config.Load] has returned says that nobody has set the setting.
func IsUnset(source string) bool {
	return source == fromDefault || source == fromSecure || source == fromMaxBytes
}

// The sources of values that nobody has set: the default, the addresses of secure mode, and the shares of max-bytes.
const (
	fromDefault  = "default"
	fromSecure   = "secure"
	fromMaxBytes = "max-bytes"
)

// DescribeUnused warns in one line of settings of earlier versions in the file that set nothing, because they have their old defaults. The
// warning is "" if there are none.
func DescribeUnused(c *Config) string {
	if len(c.unused) == 0 {
		return ""
	}
	const says = "%s: settings of earlier versions without effect, with their old defaults: %s; leave them out"
	return fmt.Sprintf(says, c.file, strings.Join(c.unused, ", "))
}

// LoadAgain returns the settings as a start with the same flags would find them now.
func (c *Config) LoadAgain() (*Config, error) {
	again := Default()
	c.declared.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			_ = again.declared.Set(f.Name, f.Value.String()) // as the command line has set it
		}
	})
	_, err := again.Load(c.file)
	return again, err
}

// load fills in, below the flags that were given, what the environment and below it the file at path say. It returns
// the source of each setting's value, and the removed settings in the file that have their old defaults.
func load(flags *pflag.FlagSet, path string, env func(string) (string, bool)) (source map[string]string, unused []string, err error) {
	file, errs := readFile(path)
	source = map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		from, value := fromDefault, f.DefValue
		if v, ok := file[f.Name]; ok {
			from, value = path, v
		}
		if v, ok := env(EnvName(f.Name)); ok {
			from, value = EnvName(f.Name), v
		}
		delete(file, f.Name)
		if f.Changed {
			source[f.Name] = "--" + f.Name
			return
		}
		source[f.Name] = from
		if err := set(f, value); err != nil {
			errs = append(errs, Fault{f.Name, value, from, fmt.Errorf("%s: setting %s: %q: %w", from, f.Name, value, err)})
		}
	})
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if hadDefault(name, file[name]) {
			unused = append(unused, name)
			continue
		}
		err := fmt.Errorf("%s: there is no setting %q%s", path, name, orList(SuggestSetting(name, flags, "")))
		errs = append(errs, Fault{name, file[name], path, err})
	}
	return source, unused, errors.Join(errs...)
}

// settingFlag is a setting on a command line. Errors of its value are kept, so that all mistakes are named together.
type settingFlag struct {
	pflag.Value
	setting *pflag.Flag
	wrong   *[]error
}

// Set implements pflag.Value.
func (s settingFlag) Set(text string) error {
	s.setting.Changed = true
	if err := set(s.setting, text); err != nil {
		flag := "--" + s.setting.Name
		*s.wrong = append(*s.wrong, Fault{s.setting.Name, text, flag, fmt.Errorf("%s: %q: %w", flag, text, err)})
	}
	return nil
}

// set gives a setting a value. One that it does not take leaves it its default.
func set(f *pflag.Flag, text string) error {
	err := f.Value.Set(text)
	if err == nil {
		return nil
	}
	_ = f.Value.Set(f.DefValue) // a number has become another one
	return Explain(f, err)
}

// AddTo makes each setting a flag of a command. [Config.Load] names the flags whose values are wrong.
func (c *Config) AddTo(flags *pflag.FlagSet) {
	c.declared.VisitAll(func(f *pflag.Flag) {
		one := *f
		one.Value = settingFlag{f.Value, f, &c.wrong}
		flags.AddFlag(&one)
	})
}

// Explain returns the reason why f refuses a value, in words.
func Explain(f *pflag.Flag, err error) error {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is out of range; use a whole number that is nearer to 0")
	case f.Value.Type() == "int":
		return errors.New("is not a whole number; use digits only, such as 60")
	case f.Value.Type() == "uint64":
		return errors.New("is not a whole number of 0 or more; use digits only, such as 60")
	case f.Value.Type() == "duration":
		return errors.New("is not a time; write it with its unit, such as 500ms, 30s, 24h, 90d or 2w")
	case f.Value.Type() == "bool":
		return errors.New("is neither true nor false; use one of them")
	}
	return err
}

// maxFile is the most bytes that a file of settings may have.
const maxFile = 1 << 20

// readFile flattens the YAML file at path: metadata: {port: 1} is "metadata-port": "1", and a list is its values with
// commas between them.
func readFile(path string) (flat map[string]string, errs []error) {
	if path == "" {
		return nil, nil
	}
	text, err := readConfiguration(path)
	if err != nil {
		return nil, []error{Fault{Source: path, Err: fmt.Errorf("configuration file: %w", err)}}
	}
	var root yaml.Node
	if err := yamldoc.Unmarshal(text, &root); err != nil {
		if second, ok := errors.AsType[*yamldoc.SecondError](err); ok {
			err = fmt.Errorf("line %d: a second document begins; write all settings in one, without --- between them", second.Line)
		}
		return nil, []error{Fault{Source: path, Err: fmt.Errorf("configuration file %s: %w", path, err)}}
	}
	flat = map[string]string{}
	for _, n := range root.Content {
		flatten(flat, "", n, func(setting string, err error) {
			errs = append(errs, Fault{Setting: setting, Source: path, Err: fmt.Errorf("configuration file %s: %w", path, err)})
		})
	}
	return flat, errs
}

func readConfiguration(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: is larger than 1 MiB; it needs only the settings that differ from their defaults", path)
	}
	return text, err
}

func flatten(flat map[string]string, prefix string, n *yaml.Node, wrong func(setting string, err error)) {
	if _, ok := flat[prefix]; ok && n.Kind != yaml.MappingNode {
		wrong(prefix, fmt.Errorf("line %d: %s is there twice; leave one of them out", n.Line, prefix))
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			flatten(flat, strings.TrimPrefix(prefix+"-"+n.Content[i].Value, "-"), n.Content[i+1], wrong)
		}
	case yaml.ScalarNode:
		flat[prefix] = n.Value
	case yaml.SequenceNode:
		list := make([]string, len(n.Content))
		for i, one := range n.Content {
			if one.Kind != yaml.ScalarNode {
				wrong(prefix, fmt.Errorf("line %d: %s must be a list of single values", one.Line, prefix))
				return
			}
			list[i] = one.Value
		}
		flat[prefix] = strings.Join(list, ",")
	default:
		wrong(prefix, fmt.Errorf("line %d: %s must be a single value, a list of them or a section", n.Line, prefix))
	}
}
