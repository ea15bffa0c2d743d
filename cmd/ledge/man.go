package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan makes the command with which packages get their manual pages. SOURCE_DATE_EPOCH is the date in them.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a manual page for each command",
		Example: `  ledge man /usr/local/share/man/man1
  SOURCE_DATE_EPOCH=0 ledge man man1`,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Source: "Ledge", Manual: "Ledge"}, args[0])
		},
	}
}
