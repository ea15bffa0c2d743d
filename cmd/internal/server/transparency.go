package server

import (
	"fmt"

	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/store/osfile"
	"ledge/store/transparency"
)

// openTransparency opens the Merkle tree of the log of changes, and the key of its checkpoints, which the first start makes. The server
// starts without them while the disk is full.
func openTransparency(p *Server) error {
	log, path, node := p.Node.Changes.Log, p.Config.Paths().Tree(), p.Node.Store.Node()
	tree, err := transparency.Open(log, path, node, p.Logger)
	if osfile.IsFull(err) {
		p.Logger.Warn("the disk is full: the Merkle tree of the log of changes is kept in memory until the next start", "error", err)
		tree, err = transparency.OpenReading(log, path, node)
	}
	if err != nil {
		return exit.With(exit.Folder, err)
	}
	p.onClose(func() { _ = tree.Close() }) // nothing rests on the file
	p.transparency = &transparency.Log{Tree: tree}
	seed, err := p.secrets.Key(transparency.KeyName)
	if osfile.IsFull(err) || domain.CodeOf(err) == domain.Full {
		p.Logger.Warn("the disk is full: checkpoints are not signed until the next start, because their key cannot be kept", "error", err)
		return nil
	}
	if err == nil {
		p.transparency.Key, err = transparency.NewKey(transparency.Origin(node), seed)
	}
	if err != nil {
		return exit.With(exit.Folder, fmt.Errorf("make the key of checkpoints: %w", err))
	}
	return nil
}
