package config

import "os"

// InstalledFile is the file of settings of an installed node, such as of the Debian package.
const InstalledFile = "/etc/ledge/ledge.yaml"

// FindInstalled returns InstalledFile if it is there and the working directory has no data folder of its own; otherwise "".
func FindInstalled() string {
	if _, err := os.Lstat(Default().DataDir); err == nil {
		return ""
	}
	if _, err := os.Stat(InstalledFile); err != nil {
		return ""
	}
	return InstalledFile
}
