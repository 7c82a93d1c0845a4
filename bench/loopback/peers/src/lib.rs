//! Code that the peers share: the command line, and the sources and sinks of bytes.
//!
//!   peer-NAME recv ADDRESS PORT [--out FILE] [--mtu N]
//!   peer-NAME send ADDRESS PORT --bytes N | --file FILE [--mtu N]
//!
//! There is one connection with one stream. The receiver prints "ready" when it listens, and "BYTES SECONDS" at the end
//! (from the first byte to the last one written). It confirms all bytes with one byte, after which the sender ends.
//! From memory to memory the receiver counts and drops the bytes. --mtu: the interface's MTU, with the IP header.
use std::{
    collections::HashMap,
    fs::File,
    io::{self, IoSlice, Read, Write},
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    path::PathBuf,
    sync::mpsc as threads,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::sync::mpsc;

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Flow control window, much larger than the bytes in flight on one machine.
pub const WINDOW: u32 = 64 << 20;
pub const CONFIRMATION: &[u8] = b"k";
/// Time in which the sender's last packets leave. If they are lost, the receiver waits for FAREWELL.
pub const PARTING: Duration = Duration::from_millis(5);
pub const FAREWELL: Duration = Duration::from_secs(1);
const BLOCK: usize = 1 << 20;
const BLOCKS_AHEAD: usize = 8;
const SOCKET_BYTES: libc::c_int = 8 << 20;
const IP_AND_UDP: u16 = 28;
pub const MOST_BYTES_A_SEND: u16 = 65_507;

pub struct Options {
    pub receives: bool,
    pub address: SocketAddr,
    /// The interface's MTU.
    pub mtu: u16,
    pub bytes: u64,
    pub file: Option<PathBuf>,
}

impl Options {
    pub fn from_command_line() -> Result<Self, Error> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let usage = "recv ADDRESS PORT [--out FILE] [--mtu N] | send ADDRESS PORT --bytes N | --file FILE [--mtu N]";
        if words.len() < 3 || words.len() % 2 == 0 {
            return Err(usage.into());
        }
        let given: HashMap<&str, &str> =
            words[3..].chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        let receives = words[0] == "recv";
        let file = given.get(if receives { "--out" } else { "--file" }).map(PathBuf::from);
        let bytes = given.get("--bytes").map_or(Ok(0), |text| text.parse())?;
        if !receives && (words[0] != "send" || (file.is_none() && bytes == 0)) {
            return Err(usage.into());
        }
        let address = SocketAddr::new(words[1].parse()?, words[2].parse()?);
        let mtu = given.get("--mtu").map_or(Ok(1500), |text| text.parse())?;
        Ok(Options { receives, address, mtu, bytes, file })
    }

    /// The largest UDP payload.
    pub fn datagram(&self) -> u16 {
        self.mtu - IP_AND_UDP
    }

    /// Whether one send call can carry several datagrams of this size, at most 65,507 bytes.
    pub fn segments(&self) -> bool {
        self.datagram() <= MOST_BYTES_A_SEND / 2
    }

    /// A socket with the largest allowed buffers. A receiver's is bound to the address, a sender's to any address.
    pub fn socket(&self) -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind(if self.receives { self.address } else { SocketAddr::from(([0, 0, 0, 0], 0)) })?;
        for option in [libc::SO_RCVBUF, libc::SO_SNDBUF, libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
            let (value, size) = ((&SOCKET_BYTES as *const libc::c_int).cast(), size_of_val(&SOCKET_BYTES) as u32);
            // SAFETY: the value outlives the call. An option that is not allowed fails and leaves the size unchanged.
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, size) };
        }
        Ok(socket)
    }
}

/// A self-signed certificate and its key, as PEM.
pub fn certificate() -> Result<(String, String), Error> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()])?;
    Ok((made.cert.pem(), made.signing_key.serialize_pem()))
}

/// Prints that the receiver listens.
pub fn ready() {
    println!("ready");
    io::stdout().flush().expect("standard output");
}

/// Runs `work` on a runtime with as many threads as cores.
pub fn run<F: std::future::Future<Output = Result<(), Error>>>(work: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if let Err(error) = runtime.block_on(work) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

/// A block whose memory returns to the reader when it is no longer used.
struct Block {
    memory: Vec<u8>,
    used: usize,
    back: threads::Sender<Vec<u8>>,
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.used]
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let _ = self.back.send(std::mem::take(&mut self.memory));
    }
}

/// The bytes to send, in blocks of 1 MiB: a file that a thread reads ahead, or the same memory again and again.
pub enum Source {
    Memory(Bytes, u64),
    File(mpsc::Receiver<io::Result<Bytes>>),
}

impl Source {
    pub fn open(options: &Options) -> io::Result<Self> {
        let Some(path) = &options.file else {
            return Ok(Source::Memory(Bytes::from(vec![7; BLOCK]), options.bytes));
        };
        let mut file = File::open(path)?;
        let (full, blocks) = mpsc::channel(BLOCKS_AHEAD);
        std::thread::spawn(move || {
            let (back, free) = threads::channel();
            loop {
                let mut memory = free.try_recv().unwrap_or_else(|_| vec![0; BLOCK]);
                let block = match file.read(&mut memory) {
                    Ok(0) => return,
                    Ok(used) => Ok(Bytes::from_owner(Block { memory, used, back: back.clone() })),
                    Err(error) => Err(error),
                };
                if full.blocking_send(block).is_err() {
                    return;
                }
            }
        });
        Ok(Source::File(blocks))
    }

    pub async fn next(&mut self) -> io::Result<Option<Bytes>> {
        match self {
            Source::File(blocks) => blocks.recv().await.transpose(),
            Source::Memory(block, left) => {
                let size = (*left).min(block.len() as u64);
                *left -= size;
                Ok((size > 0).then(|| block.slice(..size as usize)))
            }
        }
    }
}

/// Takes the received bytes. A thread writes them to a file, or they are dropped.
pub struct Sink {
    writer: Option<(mpsc::Sender<Vec<Bytes>>, JoinHandle<io::Result<()>>)>,
    bytes: u64,
    began: Option<Instant>,
}

impl Sink {
    pub fn open(options: &Options) -> io::Result<Self> {
        let Some(path) = &options.file else {
            return Ok(Sink { writer: None, bytes: 0, began: None });
        };
        let mut file = File::create(path)?;
        let (sender, mut pieces) = mpsc::channel::<Vec<Bytes>>(64);
        let thread = std::thread::spawn(move || {
            let mut gathered = Vec::new();
            while pieces.blocking_recv_many(&mut gathered, 64) > 0 {
                let all: Vec<Bytes> = gathered.drain(..).flatten().collect(); // dropped when written
                for some in all.chunks(libc::UIO_MAXIOV as usize) {
                    write_all(&mut file, some)?;
                }
            }
            Ok(())
        });
        Ok(Sink { writer: Some((sender, thread)), bytes: 0, began: None })
    }

    fn count(&mut self, pieces: &[Bytes]) {
        self.began.get_or_insert_with(Instant::now);
        self.bytes += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
    }

    /// As put(), for callers on any thread that never have many pieces in flight.
    pub fn put_now(&mut self, pieces: Vec<Bytes>) -> Result<(), Error> {
        self.count(&pieces);
        if let Some((sender, _)) = &self.writer {
            sender.try_send(pieces).map_err(|_| "the file cannot be written")?;
        }
        Ok(())
    }

    pub async fn put(&mut self, pieces: Vec<Bytes>) -> Result<(), Error> {
        self.count(&pieces);
        if let Some((sender, _)) = &self.writer {
            sender.send(pieces).await.map_err(|_| "the file cannot be written")?;
        }
        Ok(())
    }

    /// Waits until all bytes are written, and prints their number.
    pub async fn finish(self) -> Result<(), Error> {
        if let Some((sender, thread)) = self.writer {
            drop(sender);
            let written = tokio::task::spawn_blocking(|| thread.join()).await?;
            written.map_err(|_| "the writing thread ended")??;
        }
        let seconds = self.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        println!("{} {seconds:.6}", self.bytes);
        Ok(())
    }
}

fn write_all(file: &mut File, pieces: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<IoSlice> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let mut rest = slices.as_mut_slice();
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        let written = file.write_vectored(rest)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut rest, written);
    }
    Ok(())
}
