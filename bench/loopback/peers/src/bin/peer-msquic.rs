//! msquic: see src/lib.rs. Built with `--features msquic`. The crate contains its C sources, which need cmake and
//! libnuma.
use std::{
    ffi::c_void,
    fs,
    sync::{mpsc, Arc},
};

use bytes::Bytes;
use msquic::{
    ffi, Addr, Api, BufferRef, CertificateFile, Configuration, Connection, ConnectionEvent, ConnectionShutdownFlags,
    Credential, CredentialConfig, CredentialFlags, ExecutionProfile, Listener, ListenerEvent, Registration,
    RegistrationConfig, SendFlags, Settings, Status, StatusCode, Stream, StreamEvent, StreamOpenFlags, StreamRef,
    StreamShutdownFlags, StreamStartFlags,
};
use tokio::sync::Semaphore;
use udtx_bench_peers::{
    certificate, ready, run, Error, Options, Sink, Source, CONFIRMATION, FAREWELL, PARTING, WINDOW,
};

const ALPN: &str = "bench";
/// Blocks of 1 MiB. The library keeps them until they are acknowledged and does not copy them.
const BLOCKS_IN_FLIGHT: usize = 8;
const RECEIVE_BUFFER: u32 = 1 << 20;
/// The largest MTU that msquic is compiled for.
const LARGEST_MTU: u16 = 1500;

fn registration() -> Result<Registration, Status> {
    Registration::new(&RegistrationConfig::new().set_execution_profile(ExecutionProfile::MaxThroughput))
}

fn configuration(registration: &Registration, options: &Options) -> Result<Configuration, Status> {
    let mtu = options.mtu.min(LARGEST_MTU);
    let settings = Settings::new()
        .set_PeerBidiStreamCount(1)
        .set_ConnFlowControlWindow(WINDOW)
        .set_StreamRecvWindowDefault(WINDOW)
        .set_StreamRecvBufferDefault(RECEIVE_BUFFER)
        .set_MinimumMtu(mtu)
        .set_MaximumMtu(mtu)
        .set_SendBufferingEnabled();
    let made = Configuration::open(registration, &[BufferRef::from(ALPN)], Some(&settings))?;
    let mut raw = *settings.as_ffi_ref();
    raw.set_SendBufferingEnabled(0); // the crate can only switch it on
                                     // SAFETY: the handle is open, and the settings are of the library's own type.
    unsafe {
        let size = size_of_val(&raw) as u32;
        Api::set_param(
            made.as_raw(),
            ffi::QUIC_PARAM_CONFIGURATION_SETTINGS,
            size,
            (&raw as *const ffi::QUIC_SETTINGS).cast(),
        )?;
    }
    Ok(made)
}

/// Bytes of one event. The library keeps them until all pieces of the event are dropped.
struct Delivery {
    stream: ffi::HQUIC,
    bytes: u64,
}

// SAFETY: the library takes the call from any thread.
unsafe impl Send for Delivery {}
unsafe impl Sync for Delivery {}

impl Drop for Delivery {
    fn drop(&mut self) {
        // SAFETY: the stream is open until the process ends.
        let stream = std::mem::ManuallyDrop::new(unsafe { Stream::from_raw(self.stream) });
        stream.receive_complete(self.bytes);
    }
}

struct Piece(&'static [u8], #[allow(dead_code)] Arc<Delivery>);

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

/// The event's bytes, not copied.
fn pieces_of(stream: &StreamRef, buffers: &[BufferRef], bytes: u64) -> Vec<Bytes> {
    // SAFETY: see Delivery.
    let delivery = Arc::new(Delivery { stream: unsafe { stream.as_raw() }, bytes });
    let kept = |buffer: &BufferRef| unsafe { std::mem::transmute::<&[u8], &'static [u8]>(buffer.as_bytes()) };
    buffers.iter().map(|buffer| Bytes::from_owner(Piece(kept(buffer), delivery.clone()))).collect()
}

/// Messages from the library's threads to the main thread.
enum News {
    Stream(usize, Sink),
    Connected,
    Confirmed,
    Over,
}

fn take(mut sink: Option<Sink>, news: mpsc::Sender<News>) -> impl FnMut(StreamRef, StreamEvent) -> Result<(), Status> {
    move |stream, event| {
        match event {
            StreamEvent::Receive { total_buffer_length, buffers, .. } if *total_buffer_length > 0 => {
                let pieces = pieces_of(&stream, buffers, *total_buffer_length);
                if sink.as_mut().is_some_and(|sink| sink.put_now(pieces).is_err()) {
                    let _ = news.send(News::Over);
                }
                return Err(StatusCode::QUIC_STATUS_PENDING.into());
            }
            StreamEvent::PeerSendShutdown => {
                // SAFETY: the handle is sent as a number to the main thread, which answers.
                let handle = unsafe { stream.as_raw() } as usize;
                let _ = sink.take().map(|sink| news.send(News::Stream(handle, sink)));
            }
            _ => {}
        }
        Ok(())
    }
}

fn listener(registration: &Registration, options: &Options, news: mpsc::Sender<News>) -> Result<Listener, Error> {
    let (certificate, key) = certificate()?;
    let place = std::env::temp_dir().join(format!("peer-msquic-{}", std::process::id()));
    let (certificate_path, key_path) = (place.with_extension("cert"), place.with_extension("key"));
    fs::write(&certificate_path, certificate)?;
    fs::write(&key_path, key)?;
    let files = CertificateFile::new(key_path.display().to_string(), certificate_path.display().to_string());
    let credential = CredentialConfig::new()
        .set_credential_flags(CredentialFlags::NO_CERTIFICATE_VALIDATION)
        .set_credential(Credential::CertificateFile(files));
    let configuration = configuration(registration, options)?;
    let loaded = configuration.load_credential(&credential);
    fs::remove_file(certificate_path)?;
    fs::remove_file(key_path)?;
    loaded?;
    let sink = std::sync::Mutex::new(Some(Sink::open(options)?));
    let listener = Listener::open(registration, move |_, event| {
        if let ListenerEvent::NewConnection { connection, .. } = event {
            let mut sink = sink.lock().expect("one listener").take();
            let news = news.clone();
            connection.set_callback_handler(move |_, event| {
                match event {
                    ConnectionEvent::PeerStreamStarted { stream, .. } => {
                        stream.set_callback_handler(take(sink.take(), news.clone()));
                    }
                    ConnectionEvent::ShutdownComplete { .. } => drop(news.send(News::Over)),
                    _ => {}
                }
                Ok(())
            });
            connection.set_configuration(&configuration)?;
        }
        Ok(())
    })?;
    listener.start(&[BufferRef::from(ALPN)], Some(&Addr::from(options.address)))?;
    Ok(listener)
}

async fn receive(options: Options) -> Result<(), Error> {
    let (sender, news) = mpsc::channel();
    let registration = registration()?;
    let _listener = listener(&registration, &options, sender)?;
    ready();
    let News::Stream(handle, sink) = news.recv()? else {
        return Err("the connection ended early".into());
    };
    sink.finish().await?;
    let buffers = [BufferRef::from(CONFIRMATION)];
    // SAFETY: the stream is open and the buffer exists until the process ends.
    unsafe {
        let stream = std::mem::ManuallyDrop::new(Stream::from_raw(handle as ffi::HQUIC));
        stream.send(&buffers, SendFlags::FIN, std::ptr::null())?;
    }
    let _ = news.recv_timeout(FAREWELL);
    leave()
}

/// A block in flight. The library hands it back when it is acknowledged.
struct Sent {
    _block: Bytes,
    buffers: [BufferRef; 1],
}

fn start_connection(registration: &Registration, options: &Options, news: mpsc::Sender<News>) -> Result<Connection, Error> {
    let configuration = configuration(registration, options)?;
    let flags = CredentialFlags::NO_CERTIFICATE_VALIDATION;
    configuration.load_credential(&CredentialConfig::new_client().set_credential_flags(flags))?;
    let connection = Connection::open(registration, move |_, event| {
        match event {
            ConnectionEvent::Connected { .. } => drop(news.send(News::Connected)),
            ConnectionEvent::ShutdownComplete { .. } => drop(news.send(News::Over)),
            _ => {}
        }
        Ok(())
    })?;
    connection.start(&configuration, &options.address.ip().to_string(), options.address.port())?;
    std::mem::forget(configuration);
    Ok(connection)
}

fn open(connection: &Connection, room: Arc<Semaphore>, news: mpsc::Sender<News>) -> Result<Stream, Status> {
    let stream = Stream::open(connection, StreamOpenFlags::NONE, move |_, event| {
        match event {
            StreamEvent::SendComplete { client_context, .. } => {
                // SAFETY: send() made the pointer from a box.
                drop(unsafe { Box::from_raw(client_context as *mut Sent) });
                room.add_permits(1);
            }
            StreamEvent::Receive { buffers, .. } if !buffers.is_empty() => drop(news.send(News::Confirmed)),
            _ => {}
        }
        Ok(())
    })?;
    stream.start(StreamStartFlags::NONE)?;
    Ok(stream)
}

async fn send(options: Options) -> Result<(), Error> {
    let (sender, news) = mpsc::channel();
    let registration = registration()?;
    let connection = start_connection(&registration, &options, sender.clone())?;
    if !matches!(news.recv()?, News::Connected) {
        return Err("no connection".into());
    }
    let room = Arc::new(Semaphore::new(BLOCKS_IN_FLIGHT));
    let stream = open(&connection, room.clone(), sender)?;
    let mut source = Source::open(&options)?;
    while let Some(block) = source.next().await? {
        room.acquire().await?.forget();
        let buffers = [BufferRef::from(block.as_ref())];
        let sent: *mut Sent = Box::into_raw(Box::new(Sent { _block: block, buffers }));
        // SAFETY: the box lives until the library hands it back.
        unsafe { stream.send(&(*sent).buffers, SendFlags::NONE, sent.cast::<c_void>())? };
    }
    stream.shutdown(StreamShutdownFlags::GRACEFUL, 0)?;
    if !matches!(news.recv()?, News::Confirmed) {
        return Err("not confirmed".into());
    }
    connection.shutdown(ConnectionShutdownFlags::NONE, 0);
    tokio::time::sleep(PARTING).await;
    leave()
}

/// Ends the process at once. Closing the library's handles in order would take time.
fn leave() -> ! {
    // SAFETY: all output was written.
    unsafe { libc::_exit(0) }
}

fn main() -> Result<(), Error> {
    let options = Options::from_command_line()?;
    if options.receives {
        run(receive(options));
    } else {
        run(send(options));
    }
    Ok(())
}
