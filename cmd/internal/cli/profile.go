package cli

import (
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/exit"
)

// cpuProfile is the file of the flag cpu-profile, which all commands have.
type cpuProfile struct {
	path string
	file *os.File
}

// start begins the profile, if the flag names a file.
func (p *cpuProfile) start(*cobra.Command, []string) (err error) {
	if p.path == "" {
		return nil
	}
	if p.file, err = os.Create(p.path); err != nil {
		return exit.With(exit.Usage, fmt.Errorf("cpu-profile: %w", err))
	}
	return pprof.StartCPUProfile(p.file)
}

// stop completes the file, if there is one.
func (p *cpuProfile) stop() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("cpu-profile: %w", err)
	}
	return nil
}
