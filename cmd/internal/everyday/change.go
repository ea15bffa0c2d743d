package everyday

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"ledge/cmd/internal/exit"
	"ledge/cmd/internal/rest"
)

// mostFile is the size of the largest file that add reads, in bytes.
const mostFile = 64 << 20

// newAdd returns the command that adds entities of files.
func (e entity) newAdd() *cobra.Command {
	c := &cobra.Command{
		Use: "add FILE...", Args: cobra.MinimumNArgs(1), Short: fmt.Sprintf("Add %ss of YAML or JSON files", e.about),
		Long: fmt.Sprintf(`Add %ss of YAML or JSON files: one, a list, or several documents, in the form of get. - is
standard input. It goes on behind a refusal.`, e.about),
		Example: fmt.Sprintf("  ledge %s add NAME.yaml\n  ledge %[1]s get OLD | sed 's/^name: .*/name: NEW/' | ledge %[1]s add -", e.name),
	}
	return run(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		var failed error
		for _, path := range c.Flags().Args() {
			list, err := readEntities(path, c.InOrStdin())
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			for _, fields := range list {
				call := rest.Call{Method: http.MethodPost, Service: e.kind.Service, Path: e.kind.Path}
				if err := api.DoOne(ctx, call, e.kind.Key, fields); err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s: %v: %w", path, fields["name"], err))
					continue
				}
				fmt.Fprintln(c.OutOrStdout(), e.about, fields["name"], "added")
			}
		}
		return failed
	})
}

// readEntities reads the entities of a file of YAML or JSON.
func readEntities(path string, stdin io.Reader) (list []map[string]any, err error) {
	in := stdin
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
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var one any
		switch err := documents.Decode(&one); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		entities, ok := one.([]any)
		if !ok {
			entities = []any{one}
		}
		for _, entity := range entities {
			fields, ok := entity.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s: it has something else than entities; write fields such as name: cam-1, or a list of them", path)
			}
			list = append(list, fields)
		}
	}
}

// newEdit returns the command that changes an entity in an editor.
func (e entity) newEdit() *cobra.Command {
	c := &cobra.Command{
		Use: "edit NAME", Args: cobra.ExactArgs(1), Short: fmt.Sprintf("Change one %s in an editor", e.about),
		Long: fmt.Sprintf(`Change one %s in an editor: $VISUAL, $EDITOR or vi. It is changed only if nobody else has changed
it meanwhile.`, e.about),
		Example: fmt.Sprintf("  ledge %s edit NAME\n  EDITOR='sed -i s/indoor/outdoor/' ledge %[1]s edit NAME", e.name),
	}
	c = run(c, func(ctx context.Context, c *cobra.Command, api *rest.API) error {
		name := c.Flags().Arg(0)
		now, etag, err := api.Entity(ctx, e.kind, e.kind.PathOf(name))
		if err == nil && now == nil {
			_, err = e.mustRead(ctx, api, e.kind.PathOf(name), name)
		}
		if err != nil {
			return err
		}
		then, err := editText(ctx, c, now)
		if err != nil {
			return err
		}
		if then["name"] != name {
			return exit.With(exit.Usage, fmt.Errorf("the name %v is another one, and a name cannot be changed; add another %s instead", then["name"], e.about))
		}
		call := rest.Call{Method: http.MethodPatch, Service: e.kind.Service, Path: e.kind.Path, IfMatch: etag}
		fields := rest.ChangedFields(now, then)
		if len(fields) == 0 {
			fmt.Fprintln(c.OutOrStdout(), e.about, name, "is not changed")
			return nil
		}
		if e.kind.Replaced {
			call.Method, fields = http.MethodPut, then
		}
		fields["name"] = name
		if err := api.DoOne(ctx, call, e.kind.Key, fields); err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), e.about, name, "changed:", strings.Join(sortedNames(rest.ChangedFields(now, then)), ", "))
		return nil
	})
	return completeNames(c, e)
}

// editText has a user edit fields as YAML.
func editText(ctx context.Context, c *cobra.Command, fields map[string]any) (edited map[string]any, err error) {
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
	list, err := readEntities(f.Name(), nil)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("the text has %d documents; leave one", len(list))
	}
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("%w; nothing is changed", err))
	}
	return rest.Normalize(list[0])
}

// newRemove returns the command that removes entities.
func (e entity) newRemove() *cobra.Command {
	c := &cobra.Command{
		Use: "remove NAME...", Args: cobra.MinimumNArgs(1), Short: fmt.Sprintf("Remove %ss", e.about),
		Long:    fmt.Sprintf("Remove %ss. It goes on behind a refusal.", e.about),
		Example: fmt.Sprintf("  ledge %s remove NAME\n  ledge history %[1]s NAME --restore SEQUENCE", e.name),
	}
	return completeNames(run(c, e.each("removed", e.removeOne)), e)
}

// newLock returns a command that sets the admin state of entities.
func (e entity) newLock(verb, state string) *cobra.Command {
	c := &cobra.Command{
		Use: verb + " NAME...", Args: cobra.MinimumNArgs(1), Short: fmt.Sprintf("Set the adminState of %ss to %s", e.about, state),
		Long:    fmt.Sprintf("Set the adminState of %ss to %s. It goes on behind a refusal.", e.about, state),
		Example: fmt.Sprintf("  ledge %s %s NAME\n  ledge %[1]s %[2]s NAME OTHER --server https://edge-7", e.name, verb),
	}
	return completeNames(run(c, e.each(verb+"ed", func(ctx context.Context, api *rest.API, name string) error {
		call := rest.Call{Method: http.MethodPatch, Service: e.kind.Service, Path: e.kind.Path}
		return api.DoOne(ctx, call, e.kind.Key, map[string]any{"name": name, "adminState": state})
	})), e)
}

// each does something with each entity that is named, and prints what is done.
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
