package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"ledge/cmd/ledgetest"
)

// TestCompose holds that the file of docker compose runs the image of `make dist` as its user, never one of a registry, and that the
// files and volumes that it mounts are there.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image, User string
			NetworkMode string `yaml:"network_mode"`
			PullPolicy  string `yaml:"pull_policy"`
			Tmpfs       []string
			Volumes     []string
		}
		Volumes map[string]any
	}
	ledgetest.MustDo(t, yaml.Unmarshal([]byte(ledgetest.MustRead(t, deploy+"compose.yaml")), &file))
	image := ledgetest.MustRead(t, ledgetest.Repo(".ci", "dist", "image.go"))
	ledge := file.Services["ledge"]
	for _, want := range []string{`name.NewTag("` + ledge.Image + `:latest")`, `User: "` + ledge.User + `"`} {
		if !strings.Contains(image, want) {
			t.Errorf("the image has no %s", want)
		}
	}
	if ledge.PullPolicy != "never" {
		t.Errorf("the pull policy is %q: an image of that name in a registry is not ours", ledge.PullPolicy)
	}
	if !slices.Contains(ledge.Tmpfs, "/tmp") {
		t.Error("ledge verify has no folder for temporary files")
	}
	mounted := 0
	for name, s := range file.Services {
		if s.NetworkMode != "host" {
			t.Errorf("%s cannot reach the loopback address of the machine", name)
		}
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(v, ":")
			if strings.HasPrefix(from, "./") {
				if _, err := os.Stat(filepath.Join(deploy, from)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if _, ok := file.Volumes[from]; !ok {
				t.Errorf("%s: there is no volume %s", name, from)
			}
			if name == "ledge" && !strings.Contains(image, `"`+strings.TrimPrefix(to, "/")+`/", 0o700, user`) {
				t.Errorf("the image has no folder %s of its user", to)
			}
			mounted++
		}
	}
	if mounted < 6 {
		t.Errorf("only %d mounts are found", mounted)
	}
}
