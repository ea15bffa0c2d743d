package cli

import (
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/exit"
)

// CPUProfile is the file of the flag cpu-profile, which all commands have.
type CPUProfile struct {
	Path string
	file *os.File
}

// Start begins the profile, if the flag names a file.
func (p *CPUProfile) Start(*cobra.Command, []string) (err error) {
	if p.Path == "" {
		return nil
	}
	if p.file, err = os.Create(p.Path); err != nil {
		return exit.With(exit.Usage, fmt.Errorf("cpu-profile: %w", err))
	}
	return pprof.StartCPUProfile(p.file)
}

// Stop completes the file, if there is one.
func (p *CPUProfile) Stop() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("cpu-profile: %w", err)
	}
	return nil
}
