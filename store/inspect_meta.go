package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"ledge/store/natsblock"
	"ledge/store/osfile"

	"github.com/nats-io/nats-server/v2/server"
)

// mostMeta bounds each of the two files, in bytes.
const mostMeta = 1 << 20

// checkMeta says what is wrong with the two files in which the server keeps a stream's configuration; "" where they are whole,
// and where there are neither they nor events.
func checkMeta(dir, name string, events bool) string {
	text, err := osfile.Read(filepath.Join(dir, server.JetStreamMetaFile), mostMeta)
	sum, serr := osfile.Read(filepath.Join(dir, server.JetStreamMetaFileSum), mostMeta)
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(serr, fs.ErrNotExist) && !events:
		return ""
	case err != nil || len(text) == 0:
		return fmt.Sprintf("%s is missing or empty", filepath.Join(dir, server.JetStreamMetaFile))
	case serr != nil || len(sum) == 0:
		return fmt.Sprintf("%s is missing or empty", filepath.Join(dir, server.JetStreamMetaFileSum))
	}
	if _, _, err := natsblock.DecodeMeta(name, text, sum); err != nil {
		return fmt.Sprintf("%s: %v", dir, err)
	}
	return ""
}
