//go:build amd64 || arm64

package faults

import (
	"context"
	"path"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// inode is what the kernel knows of a node. The kernel keeps locks (flock) and checks O_EXCL, O_APPEND and the like.
type inode struct {
	fs.Inode
	fs *FS
	n  *node
}

var (
	_ fs.NodeLookuper  = (*inode)(nil)
	_ fs.NodeReaddirer = (*inode)(nil)
	_ fs.NodeGetattrer = (*inode)(nil)
	_ fs.NodeSetattrer = (*inode)(nil)
	_ fs.NodeCreater   = (*inode)(nil)
	_ fs.NodeMkdirer   = (*inode)(nil)
	_ fs.NodeLinker    = (*inode)(nil)
	_ fs.NodeUnlinker  = (*inode)(nil)
	_ fs.NodeRmdirer   = (*inode)(nil)
	_ fs.NodeRenamer   = (*inode)(nil)
	_ fs.NodeOpener    = (*inode)(nil)
	_ fs.NodeReader    = (*inode)(nil)
	_ fs.NodeWriter    = (*inode)(nil)
	_ fs.NodeFsyncer   = (*inode)(nil)
	_ fs.NodeStatfser  = (*inode)(nil)
)

func (i *inode) lock() func() {
	i.fs.mu.Lock()
	return i.fs.mu.Unlock
}

func (i *inode) attr(out *fuse.Attr) {
	out.Ino, out.Nlink, out.Blksize = i.n.id, 1, pageSize
	out.Mode = i.mode()
	out.Size = uint64(len(i.n.data))
	out.Blocks = (out.Size + sectorSize - 1) / sectorSize
	out.SetTimes(&i.n.mtime, &i.n.mtime, &i.n.mtime)
}

func (i *inode) mode() uint32 {
	if i.n.dir {
		return syscall.S_IFDIR | 0o750
	}
	return syscall.S_IFREG | 0o600
}

// child makes n known to the kernel.
func (i *inode) child(ctx context.Context, n *node, out *fuse.EntryOut) *fs.Inode {
	c := &inode{fs: i.fs, n: n}
	c.attr(&out.Attr)
	return i.NewInode(ctx, c, fs.StableAttr{Mode: c.mode() & syscall.S_IFMT, Ino: n.id})
}

func (i *inode) path(name string) string { return path.Join(i.Path(nil), name) }

func (i *inode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	defer i.lock()()
	n := i.n.entries[name]
	if n == nil {
		return nil, syscall.ENOENT
	}
	return i.child(ctx, n, out), 0
}

func (i *inode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	defer i.lock()()
	var list []fuse.DirEntry
	for name, n := range i.n.entries {
		list = append(list, fuse.DirEntry{Name: name, Ino: n.id, Mode: (&inode{n: n}).mode()})
	}
	slices.SortFunc(list, func(a, b fuse.DirEntry) int { return int(a.Ino) - int(b.Ino) })
	return fs.NewListDirStream(list), 0
}

func (i *inode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	defer i.lock()()
	i.attr(&out.Attr)
	return 0
}

// Setattr truncates; owners, modes and times are taken and forgotten.
func (i *inode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	defer i.lock()()
	if size, ok := in.GetSize(); ok {
		if errno := i.fs.do(Op{Kind: Truncate, Path: i.path(""), node: i.n.id, size: int64(size)}); errno != 0 {
			return errno
		}
	}
	i.attr(&out.Attr)
	return 0
}

func (i *inode) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	defer i.lock()()
	n, errno := i.make(Create, name)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return i.child(ctx, n, out), nil, 0, 0
}

func (i *inode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	defer i.lock()()
	n, errno := i.make(Mkdir, name)
	if errno != 0 {
		return nil, errno
	}
	return i.child(ctx, n, out), 0
}

func (i *inode) make(kind Kind, name string) (*node, syscall.Errno) {
	if i.n.entries[name] != nil {
		return nil, syscall.EEXIST
	}
	errno := i.fs.do(Op{Kind: kind, Path: i.path(name), node: i.n.id, name: name, child: i.fs.disk.last + 1})
	return i.n.entries[name], errno
}

func (i *inode) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	defer i.lock()()
	of, ok := target.(*inode)
	if !ok {
		return nil, syscall.EXDEV
	}
	if errno := i.fs.do(Op{Kind: Link, Path: i.path(name), node: i.n.id, name: name, child: of.n.id}); errno != 0 {
		return nil, errno
	}
	return i.child(ctx, of.n, out), 0
}

func (i *inode) Unlink(_ context.Context, name string) syscall.Errno {
	defer i.lock()()
	return i.fs.do(Op{Kind: Unlink, Path: i.path(name), node: i.n.id, name: name})
}

func (i *inode) Rmdir(_ context.Context, name string) syscall.Errno {
	defer i.lock()()
	if n := i.n.entries[name]; n != nil && len(n.entries) > 0 {
		return syscall.ENOTEMPTY
	}
	return i.fs.do(Op{Kind: Rmdir, Path: i.path(name), node: i.n.id, name: name})
}

func (i *inode) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	defer i.lock()()
	dir, ok := to.(*inode)
	if !ok || flags&^1 != 0 { // 1: RENAME_NOREPLACE, which the kernel's lookup has answered already
		return syscall.EINVAL
	}
	if flags == 1 && dir.n.entries[newName] != nil {
		return syscall.EEXIST
	}
	return i.fs.do(Op{Kind: Rename, Path: i.path(name), node: i.n.id, name: name, to: dir.n.id, newName: newName})
}

func (i *inode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (i *inode) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	defer i.lock()()
	if bad := i.fs.bad[i.n]; off < bad[1] && off+int64(len(dest)) > bad[0] {
		return nil, syscall.EIO
	}
	if off >= int64(len(i.n.data)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(dest[:copy(dest, i.n.data[off:])]), 0
}

func (i *inode) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	defer i.lock()()
	errno := i.fs.do(Op{Kind: Write, Path: i.path(""), node: i.n.id, offset: off, data: slices.Clone(data)})
	return uint32(len(data)), errno
}

func (i *inode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	defer i.lock()()
	kind := Fsync
	if i.n.dir {
		kind = FsyncDir
	}
	return i.fs.do(Op{Kind: kind, Path: i.path(""), node: i.n.id})
}

// Statfs names a large disk.
func (i *inode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<22, 1<<21, 1<<21
	out.Files, out.Ffree = 1<<20, 1<<19
	return 0
}
