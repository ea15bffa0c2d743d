package ledgetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/internal/services"
)

// ShellBlocks returns the shell blocks of a text.
func ShellBlocks(text string) []string {
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// Shell runs a block of commands in the repository's folder.
type Shell struct {
	T       *testing.T
	replace *strings.Replacer
	Env     []string
}

// NewShell returns a shell whose commands ask the node p at its ports.
func NewShell(p *Node, t *testing.T) *Shell {
	t.Helper()
	replace := append(p.Typed(), "5563", strconv.Itoa(porttest.Hold(t)), "bin/ledge", Binary, "curl ", "curl -sS --fail ")
	return &Shell{t, strings.NewReplacer(replace...), append(os.Environ(), "LEDGE_DATA_DIR="+p.Dir)}
}

// Typed returns pairs of the port of a REST service in documents, and its port here.
func (p *Node) Typed() (pairs []string) {
	for _, one := range services.REST() {
		url := p.URLs[one.Name]
		pairs = append(pairs, fmt.Sprint(":", one.Port), url[strings.LastIndex(url, ":"):])
	}
	return pairs
}

// Command returns the command that runs a block of a document in bash, in the folder of the repository.
func (s *Shell) Command(block string) *exec.Cmd {
	s.T.Helper()
	needCommands(s.T, block)
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", s.replace.Replace(block))
	cmd.Dir = Repo()
	cmd.Env = s.Env
	return cmd
}

// needCommands skips the test if a command of the block is not installed. An empty Debian has all of them but curl.
func needCommands(t *testing.T, block string) {
	t.Helper()
	if strings.Contains(block, "curl ") {
		NeedCurl(t)
	}
}

// Run runs a block and returns what it prints.
func (s *Shell) Run(block string) string {
	s.T.Helper()
	out, err := s.Command(block).CombinedOutput()
	if err != nil {
		s.T.Fatalf("%s\n%v\n%s", block, err, out)
	}
	return string(out)
}

// Start runs a block until the test ends.
func (s *Shell) Start(block string) *Output {
	s.T.Helper()
	return s.Background(s.Command("exec " + block))
}

// Background starts a command that runs until the end of the test, and collects what it prints.
func (s *Shell) Background(cmd *exec.Cmd) *Output {
	s.T.Helper()
	out := &Output{More: make(chan struct{}, 1)}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return out
}

// BuildOnEdgeX builds a program that is a module of its own on EdgeX's, with tags; the SDK's ZeroMQ client needs C, and is left out.
func BuildOnEdgeX(t *testing.T, folder string, tags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(folder))
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("%s is built on EdgeX's Go modules, which cannot be downloaded: %s", folder, out)
	}
	if out, err := run("build", "-tags", strings.Join(append(tags, "no_zmq"), ","), "-o", path, "."); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, out)
	}
	return path
}
