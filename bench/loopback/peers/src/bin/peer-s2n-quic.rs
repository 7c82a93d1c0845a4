//! s2n-quic: see src/lib.rs.
use bytes::Bytes;
use s2n_quic::{
    client::Connect,
    provider::{io, limits::Limits, tls},
    Client, Server,
};
use tokio::time::{sleep, timeout};
use udtx_bench_peers::{
    certificate, ready, run, Error, Options, Sink, Source, CONFIRMATION, FAREWELL, PARTING, WINDOW,
};

const PIECES: usize = 64;
const SEND_BUFFER: u32 = 16 << 20;

fn limits() -> Result<Limits, Error> {
    Ok(Limits::new()
        .with_data_window(WINDOW.into())?
        .with_bidirectional_local_data_window(WINDOW.into())?
        .with_bidirectional_remote_data_window(WINDOW.into())?
        .with_max_send_buffer_size(SEND_BUFFER)?)
}

fn sockets(options: &Options) -> Result<io::Default, Error> {
    Ok(io::Default::builder()
        .with_rx_socket(options.socket()?)?
        .with_gso(options.segments())? // with GSO for larger datagrams its sender crashes
        .with_max_mtu(options.mtu)?
        .with_initial_mtu(options.mtu)?
        .build()?)
}

async fn receive(options: Options) -> Result<(), Error> {
    let (certificate, key) = certificate()?;
    let mut sink = Sink::open(&options)?;
    let mut server = Server::builder()
        .with_tls((certificate.as_str(), key.as_str()))?
        .with_io(sockets(&options)?)?
        .with_limits(limits()?)?
        .start()?;
    ready();
    let mut connection = server.accept().await.ok_or("nobody came")?;
    let stream = connection.accept_bidirectional_stream().await?.ok_or("no stream")?;
    let (mut stream, mut confirm) = stream.split();
    loop {
        let mut pieces: [Bytes; PIECES] = std::array::from_fn(|_| Bytes::new());
        let (count, is_open) = stream.receive_vectored(&mut pieces).await?;
        sink.put(pieces.into_iter().take(count).collect()).await?;
        if !is_open {
            break;
        }
    }
    sink.finish().await?;
    confirm.send(Bytes::from_static(CONFIRMATION)).await?;
    confirm.finish()?;
    let _ = timeout(FAREWELL, connection.accept_bidirectional_stream()).await;
    Ok(())
}

/// The sender's TLS, which accepts every certificate.
fn credulous() -> Result<tls::default::Client, Error> {
    let mut builder = tls::default::Client::builder().with_empty_trust_store()?;
    // SAFETY: both ends belong to this benchmark.
    unsafe { builder.config_mut().disable_x509_verification()? };
    Ok(builder.build()?)
}

async fn send(options: Options) -> Result<(), Error> {
    let client =
        Client::builder().with_tls(credulous()?)?.with_io(sockets(&options)?)?.with_limits(limits()?)?.start()?;
    let mut connection = client.connect(Connect::new(options.address).with_server_name("localhost")).await?;
    let (mut confirmed, mut stream) = connection.open_bidirectional_stream().await?.split();
    let mut source = Source::open(&options)?;
    while let Some(block) = source.next().await? {
        stream.send(block).await?;
    }
    stream.finish()?;
    if confirmed.receive().await?.as_deref() != Some(CONFIRMATION) {
        return Err("not confirmed".into());
    }
    connection.close(0u32.into());
    sleep(PARTING).await;
    Ok(())
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
