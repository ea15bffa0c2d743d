// Merge writes the OpenAPI document of each service.
//
// A service writes openapi.yaml about its own routes. What all services have in common is in shared.yaml. Merge puts both
// together in openapi_merged.yaml, which the service embeds. A test fails when that file is not current.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	paths, err := sources()
	if err != nil {
		return err
	}
	for _, path := range paths {
		own, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		merged, err := Document(own)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(mergedPath(path), merged, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sources returns the paths of the services' own documents, and of the one that tests use.
func sources() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "*", "openapi.yaml"))
	return append(paths, filepath.Join("..", "..", "handlerstest", "testdata", "openapi.yaml")), err
}

// mergedPath returns the path of the merged document beside the service's own.
func mergedPath(own string) string { return filepath.Join(filepath.Dir(own), "openapi_merged.yaml") }
