package datadir

import (
	"cmp"
	"path/filepath"
)

// Paths are the folders and files of a node.
type Paths struct {
	Data       string // the data folder
	ArchiveDir string // the folder of the archives; empty: archive in the data folder
}

// Log returns the folder of the log.
func (p Paths) Log() string { return filepath.Join(p.Data, "nats") }

// Bus is the folder of the copies of the logs for NATS clients. It can be removed while the server is stopped.
func (p Paths) Bus() string { return filepath.Join(p.Data, "bus") }

// Tree returns the file of the kept hashes of the Merkle tree. It can be removed while the server is stopped.
func (p Paths) Tree() string { return filepath.Join(p.Log(), "LEDGE_EVENTS.tree") }

// Payloads returns the folder of the values that are too large for the log.
func (p Paths) Payloads() string { return filepath.Join(p.Data, "payloads") }

// Archives returns the folder of the archives.
func (p Paths) Archives() string { return cmp.Or(p.ArchiveDir, filepath.Join(p.Data, "archive")) }

// Snapshots returns the folder of the snapshots of the state, which belong to archives.
func (p Paths) Snapshots() string { return filepath.Join(p.Data, "snapshots") }

// SigningKey returns the file of the key that signs archives and snapshots.
func (p Paths) SigningKey() string { return filepath.Join(p.Data, "archive-key.pem") }

// Secrets returns the file of the secret store.
func (p Paths) Secrets() string { return filepath.Join(p.Data, SecretsFile) }

// Written returns the folders that a running server writes to.
func (p Paths) Written() []string { return []string{p.Data, p.Log(), p.Payloads(), p.Archives()} }
