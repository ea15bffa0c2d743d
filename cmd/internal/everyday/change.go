package everyday

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/rest"
	"ledge/handlers/entityfile"
)

const (
	deviceName = "device" // of the kind
	// mostFile is the size of the largest file of entities, in bytes, and mostEntities is their number in one.
	mostFile, mostEntities = 64 << 20, 100_000
)

// defaults are the fields of new devices whose files have none.
type defaults struct{ service, profile string }

func (d *defaults) addTo(c *cobra.Command) {
	c.Flags().StringVar(&d.service, "service", "", "device service of the new devices that name none")
	c.Flags().StringVar(&d.profile, "profile", "", "device profile of the new devices that name none")
}

// newAdd returns the command that adds entities of files.
func (e entity) newAdd() *cobra.Command {
	d := defaults{}
	long := fmt.Sprintf(`Add %ss of YAML, JSON, TOML or CSV files, each with one or a list of them, in the
form of get, or of devices as EdgeX's device services have them (deviceList). - is standard input.
The others are added if one is refused.`, e.about)
	c := &cobra.Command{
		Use: "add FILE...", Args: cobra.MinimumNArgs(1), Short: fmt.Sprintf("Add %ss of files", e.about), Long: long,
		Example: fmt.Sprintf("  ledge %s add NAME.yaml\n  ledge %[1]s get OLD | sed 's/^name: .*/name: NEW/' | ledge %[1]s add -", e.name),
	}
	if e.name == deviceName {
		d.addTo(c)
	}
	return runOn(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		var failed error
		for _, path := range c.Flags().Args() {
			list, err := e.readFile(c, path)
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			for _, one := range list {
				if err := e.addOne(ctx, api, one, d); err != nil {
					failed = errors.Join(failed, e.explain(path, one, err))
					continue
				}
				fmt.Fprintln(c.OutOrStdout(), e.about, one.Name, "added")
			}
		}
		return failed
	})
}

// addOne adds an entity of a file.
func (e entity) addOne(ctx context.Context, api *rest.API, one entityfile.Entity, d defaults) error {
	if one.Err != nil {
		return exit.With(exit.Usage, one.Err)
	}
	if e.name == deviceName {
		if _, err := one.Complete(d.service, d.profile); err != nil {
			return err
		}
	}
	return api.DoOne(ctx, rest.Call{Method: http.MethodPost, Service: e.kind.Service, Path: e.kind.Path}, e.kind.Key, one.JSON)
}

// explain names the entity of a file that an error is about.
func (e entity) explain(path string, one entityfile.Entity, err error) error {
	return fmt.Errorf("%s: %s %d, %q: %w", path, e.about, one.Position, one.Name, err)
}

// readFile reads the entities of a file; - is standard input. It warns of keys that are ignored.
func (e entity) readFile(c *cobra.Command, path string) ([]entityfile.Entity, error) {
	in := c.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, mostFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostFile {
		return nil, fmt.Errorf("%s is larger than %d bytes; split it", path, mostFile)
	}
	list, err := entityfile.Read(text, e.file, mostEntities, func(int64) error { return nil }) // the file is the user's own
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, one := range list {
		if one.Ignored != "" {
			fmt.Fprintln(c.ErrOrStderr(), "ledge:", e.explain(path, one, errors.New(one.Ignored)))
		}
	}
	return list, nil
}

// newEdit returns the command that changes an entity in an editor.
func (e entity) newEdit() *cobra.Command {
	c := &cobra.Command{
		Use: "edit NAME", Args: cobra.ExactArgs(1), Short: fmt.Sprintf("Change one %s in an editor", e.about),
		Long: fmt.Sprintf(`Change one %s in an editor: $VISUAL, $EDITOR or vi. It is changed only if
nobody else has changed it meanwhile.`, e.about),
		Example: fmt.Sprintf("  ledge %s edit NAME\n  EDITOR='sed -i s/indoor/outdoor/' ledge %[1]s edit NAME", e.name),
	}
	return e.runOnNames(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		name := c.Flags().Arg(0)
		now, etag, err := api.Entity(ctx, e.kind, e.kind.PathOf(name))
		if err == nil && now == nil {
			_, err = e.mustRead(ctx, api, e.kind.PathOf(name), name)
		}
		if err != nil {
			return err
		}
		then, err := e.editText(ctx, c, now)
		if err != nil {
			return err
		}
		if then["name"] != name {
			const says = "the name %v is another one, and a name cannot be changed; add another %s instead"
			return exit.With(exit.Usage, fmt.Errorf(says, then["name"], e.about))
		}
		names := slices.Sorted(maps.Keys(rest.ChangedFields(now, then)))
		if len(names) == 0 {
			fmt.Fprintln(c.OutOrStdout(), e.about, name, "is not changed")
			return nil
		}
		if err := api.Change(ctx, e.kind, name, etag, now, then); err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), e.about, name, "changed:", strings.Join(names, ", "))
		return nil
	})
}

// editText has a user edit fields as YAML.
func (e entity) editText(ctx context.Context, c *cobra.Command, fields map[string]any) (edited map[string]any, err error) {
	text, err := yaml.Marshal(fields)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "ledge-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Close()); err != nil {
		return nil, err
	}
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w; nothing is changed", editor, err)
	}
	list, err := e.readFile(c, f.Name())
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("the text has %d %ss; leave one", len(list), e.about)
	} else if err == nil {
		err = list[0].Err
	}
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("%w; nothing is changed", err))
	}
	return rest.DecodeFields[map[string]any](list[0].JSON)
}

// newRemove returns the command that removes entities.
func (e entity) newRemove() *cobra.Command {
	c := &cobra.Command{
		Use: "remove NAME...", Args: cobra.MinimumNArgs(1), Short: fmt.Sprintf("Remove %ss", e.about),
		Long:    fmt.Sprintf("Remove %ss. It goes on behind a refusal.", e.about),
		Example: fmt.Sprintf("  ledge %s remove NAME\n  ledge history %[1]s NAME --restore SEQUENCE", e.name),
	}
	return e.runOnNames(c, e.each("removed", e.removeOne))
}

// newLock returns a command that sets the admin state of entities.
func (e entity) newLock(verb, state string) *cobra.Command {
	c := &cobra.Command{
		Use: verb + " NAME...", Args: cobra.MinimumNArgs(1), Short: fmt.Sprintf("Set the adminState of %ss to %s", e.about, state),
		Long:    fmt.Sprintf("Set the adminState of %ss to %s. It goes on behind a refusal.", e.about, state),
		Example: fmt.Sprintf("  ledge %s %s NAME\n  ledge %[1]s %[2]s NAME OTHER --server https://edge-7", e.name, verb),
	}
	return e.runOnNames(c, e.each(verb+"ed", func(ctx context.Context, api *rest.API, name string) error {
		call := rest.Call{Method: http.MethodPatch, Service: e.kind.Service, Path: e.kind.Path}
		return api.DoOne(ctx, call, e.kind.Key, map[string]any{"name": name, "adminState": state})
	}))
}

// each does something with each named entity, and prints each success.
func (e entity) each(done string, f func(context.Context, *rest.API, string) error) func(context.Context, *cobra.Command, *rest.API) error {
	return func(ctx context.Context, c *cobra.Command, api *rest.API) (failed error) {
		for _, name := range c.Flags().Args() {
			if err := f(ctx, api, name); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			fmt.Fprintln(c.OutOrStdout(), e.about, name, done)
		}
		return failed
	}
}
